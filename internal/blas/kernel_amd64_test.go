package blas

import "golang.org/x/sys/cpu"

// kernels returns all kernels that this processor can run, not only the best.
func kernels() []kernel {
	list := []kernel{goKernel}
	if x := cpu.X86; x.HasAVX2 && x.HasFMA {
		list = append(list, avx2Kernel)
		if x.HasAVX512F {
			list = append(list, avx512Kernel)
		}
	}
	return list
}
