//go:build !amd64

package blas

func bestKernel() kernel { return goKernel }
