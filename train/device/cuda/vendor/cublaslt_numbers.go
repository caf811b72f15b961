package vendor

// Numbers of cublasLt.h, cublas_api.h and library_types.h. scripts/check_vendor compares each
// with the constant that its comment names.
const (
	real32 = 0  // CUDA_R_32F
	real16 = 14 // CUDA_R_16BF

	compute32 = 68 // CUBLAS_COMPUTE_32F
	plain     = 0  // CUBLAS_OP_N
	transpose = 1  // CUBLAS_OP_T

	layoutBatch = 5 // CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT
	layoutNext  = 6 // CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET

	descTransA   = 3  // CUBLASLT_MATMUL_DESC_TRANSA
	descTransB   = 4  // CUBLASLT_MATMUL_DESC_TRANSB
	descEpilogue = 7  // CUBLASLT_MATMUL_DESC_EPILOGUE
	descBias     = 8  // CUBLASLT_MATMUL_DESC_BIAS_POINTER
	descBiasType = 26 // CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE

	epilogueNone = 1   // CUBLASLT_EPILOGUE_DEFAULT
	epilogueReLU = 2   // CUBLASLT_EPILOGUE_RELU
	epilogueBias = 4   // CUBLASLT_EPILOGUE_BIAS
	epilogueGELU = 32  // CUBLASLT_EPILOGUE_GELU
	epilogueSums = 512 // CUBLASLT_EPILOGUE_BGRADB

	preferWorkspace = 1 // CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES
	preferReduction = 3 // CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK
	preferAlignA    = 5 // CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES
	preferAlignB    = 6 // CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES
	preferAlignC    = 7 // CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES
	preferAlignD    = 8 // CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES

	reduceInComputeType = 2 // CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE

	blasExecutionFailed = 13 // CUBLAS_STATUS_EXECUTION_FAILED
	blasInternalError   = 14 // CUBLAS_STATUS_INTERNAL_ERROR
)

// heuristic is cublasLtMatmulHeuristicResult_t.
type heuristic struct {
	algorithm [8]uint64
	workspace uint64
	status    int32
	_         float32 // waves of blocks
	_         [4]int32
}
