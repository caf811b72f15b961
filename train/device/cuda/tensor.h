// tensor.h: what kernels need to use tensor cores. platform_tensor.h has the functions:
//
//   hg_mma          d += a·b for fragments of BF16 matrices, 16 × 16 and 16 × 8
//   hg_ldmatrix     loads the fragments from shared memory
//   hg_copy_async   begins a copy from global to shared memory; hg_copy_commit makes a group
//                   of copies, hg_copy_wait waits for groups
//   hg_exp2         2^x as fast as the tensor cores
//
// Fragments are those of the PTX ISA, "Matrix fragments for mma.m16n8k16 with floating point
// type" and "ldmatrix".
#pragma once
#include "platform_tensor.h"
#include "typed.h"
