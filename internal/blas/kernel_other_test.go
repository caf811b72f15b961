//go:build !amd64

package blas

func kernels() []kernel { return []kernel{goKernel} }
