//go:build !amd64

package half

func widenFast(dst []float32, src []byte, f16 bool) int { return 0 }
