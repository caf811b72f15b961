// hg.h is the whole language that kernels are written in: thread coordinates,
// barriers, warp shuffles, integer atomics, and mathematical functions. What differs
// between compilers is in platform.h, and for tensor.h and typed.h in platform_tensor.h and
// platform_typed.h. The compiler's -I chooses among two sets of these headers with one
// vocabulary: the folder platform is for clang, which compiles to PTX; the other set is for the
// C++ compiler that builds the emulator, in which kernels run on the CPU.
//
// Arithmetic is IEEE 754 in both: no contraction, no flushing of subnormal numbers, and
// no approximate instruction. The mathematical functions below consist of +, −, ×, ÷, √,
// fma and operations on bits alone. A kernel therefore gives the same bytes on a card and
// on the emulator. Products and powers of tensor.h are the exception.
#pragma once
#include "platform.h"
#include "types.h"

HG_DEVICE bool hg_nan(float v) { return v != v; }
HG_DEVICE bool hg_nan(double v) { return v != v; }
HG_DEVICE bool hg_finite(float v) { return (__float_as_uint(v) & 0x7f800000u) != 0x7f800000u; }

#define HG_INF __uint_as_float(0x7f800000u)
#define HG_NAN __uint_as_float(0x7fc00000u)

// hg_max and hg_min return the other number where one is NaN, as IEEE's maxNum does.
// Zeros compare equal, and the first is returned.
HG_DEVICE float hg_max(float a, float b) { return a >= b || hg_nan(b) ? a : b; }
HG_DEVICE float hg_min(float a, float b) { return a <= b || hg_nan(b) ? a : b; }
template <class T> HG_DEVICE T hg_least(T a, T b) { return b < a ? b : a; }
template <class T> HG_DEVICE T hg_most(T a, T b) { return a < b ? b : a; }

// f4 is four floats in one access of 16 bytes.
struct __attribute__((aligned(16))) f4 {
  float x, y, z, w;
};

// ---- indices

// hg_quotient is i / d of numbers that are not negative. A division of 64 bits takes a hundred instructions.
HG_DEVICE i64 hg_quotient(i64 i, i64 d) { return (u64)(i | d) >> 32 ? i / d : (i64)((u32)i / (u32)d); }
HG_DEVICE i64 hg_index() { return (i64)blockIdx.x * blockDim.x + threadIdx.x; }
HG_DEVICE i64 hg_stride() { return (i64)gridDim.x * blockDim.x; }
HG_DEVICE int hg_lane() { return (int)(threadIdx.x & 31); }
HG_DEVICE int hg_warp() { return (int)(threadIdx.x >> 5); }

// ---- sums over a warp and a block, in an order that depends on the shape alone

template <class T> HG_DEVICE T hg_warp_sum(T v) {
  for (int d = 16; d > 0; d >>= 1) v += __shfl_xor_sync(HG_FULL, v, d);
  return v;
}

HG_DEVICE float hg_warp_max(float v) {
  for (int d = 16; d > 0; d >>= 1) v = hg_max(v, __shfl_xor_sync(HG_FULL, v, d));
  return v;
}

// hg_block_sum returns the sum of v over the block to every thread. All threads of the
// block must call it. The block has one dimension, whole warps and up to 1,024 threads.
// room holds 32 elements of shared memory, which can be reused on return.
template <class T> HG_DEVICE T hg_block_sum(T v, T *room) {
  v = hg_warp_sum(v);
  if (hg_lane() == 0) room[hg_warp()] = v;
  __syncthreads();
  v = hg_lane() < (int)(blockDim.x >> 5) ? room[hg_lane()] : T(0);
  v = hg_warp_sum(v);
  __syncthreads();
  return v;
}

// hg_block_max is hg_block_sum of the maximum.
HG_DEVICE float hg_block_max(float v, float *room) {
  v = hg_warp_max(v);
  if (hg_lane() == 0) room[hg_warp()] = v;
  __syncthreads();
  v = hg_lane() < (int)(blockDim.x >> 5) ? room[hg_lane()] : -HG_INF;
  v = hg_warp_max(v);
  __syncthreads();
  return v;
}

// ---- mathematical functions; error bounds are against the exact value

// hg_scale is v·2^n for |n| up to 2,100, rounded once more where it is subnormal.
HG_DEVICE double hg_scale(double v, int n) {
  int half = n / 2;
  double a = __longlong_as_double((i64)(half + 1023) << 52), b = __longlong_as_double((i64)(n - half + 1023) << 52);
  return v * a * b;
}

HG_DEVICE float hg_scale(float v, int n) {
  int half = n / 2;
  return v * __uint_as_float((u32)(half + 127) << 23) * __uint_as_float((u32)(n - half + 127) << 23);
}

// hg_exp_of is 2^n·e^r for |r| ≤ ln2/2.
HG_DEVICE float hg_exp_of(float r, float n) {
  float p = 1.f / 5040;
  p = fmaf(p, r, 1.f / 720);
  p = fmaf(p, r, 1.f / 120);
  p = fmaf(p, r, 1.f / 24);
  p = fmaf(p, r, 1.f / 6);
  p = fmaf(p, r, 0.5f);
  p = fmaf(p * r, r, r);
  return hg_scale(p + 1.f, (int)n);
}

// hg_exp (float): e^x within 2 units in the last place. x = n·ln2 + r with
// |r| ≤ ln2/2, and e^r by its series, whose ninth term is below 2^-28.
HG_DEVICE float hg_exp(float x) {
  if (!(x < 89.f)) return x != x ? x : HG_INF;
  if (x < -104.f) return 0.f;
  float n = rintf(x * 1.44269504f);
  float r = fmaf(n, -0.693145752f, x);
  return hg_exp_of(fmaf(n, -1.42860677e-6f, r), n);
}

// hg_exp_sum is hg_exp(x + more) for x + more in [-104, 88] and |more| ≤ 2. Where more is the smaller,
// it costs none of its digits.
HG_DEVICE float hg_exp_sum(float x, float more) {
  float n = rintf((x + more) * 1.44269504f);
  float r = fmaf(n, -0.693145752f, x);
  return hg_exp_of(fmaf(n, -1.42860677e-6f, r) + more, n);
}

// hg_exp (double): as above to the term of degree 13, below 2^-58.
HG_DEVICE double hg_exp(double x) {
  if (!(x < 709.8)) return x != x ? x : (double)HG_INF;
  if (x < -746.) return 0.;
  double n = rint(x * 1.4426950408889634074);
  double r = fma(n, -6.93147180369123816490e-01, x);
  r = fma(n, -1.90821492927058770002e-10, r);
  double p = 1. / 6227020800.;
  p = fma(p, r, 1. / 479001600.);
  p = fma(p, r, 1. / 39916800.);
  p = fma(p, r, 1. / 3628800.);
  p = fma(p, r, 1. / 362880.);
  p = fma(p, r, 1. / 40320.);
  p = fma(p, r, 1. / 5040.);
  p = fma(p, r, 1. / 720.);
  p = fma(p, r, 1. / 120.);
  p = fma(p, r, 1. / 24.);
  p = fma(p, r, 1. / 6.);
  p = fma(p, r, 0.5);
  p = fma(p * r, r, r);
  return hg_scale(p + 1., (int)n);
}

// hg_log (float): the natural logarithm within 3 units in the last place. x = m·2^n
// with m in [√½, √2), and log m = 2(s + s³/3 + s⁵/5 + …), s = (m−1)/(m+1).
HG_DEVICE float hg_log(float x) {
  if (!(x > 0.f)) return x == 0.f ? -HG_INF : HG_NAN;
  if (!hg_finite(x)) return x;
  int n = 0;
  if (x < 1.17549435e-38f) {
    x *= 16777216.f;
    n = -24;
  }
  u32 bits = __float_as_uint(x);
  n += (int)(bits >> 23) - 127;
  float m = __uint_as_float((bits & 0x007fffffu) | 0x3f800000u);
  if (m > 1.41421354f) {
    m *= 0.5f;
    n++;
  }
  float f = m - 1.f, s = f / (m + 1.f), z = s * s;
  float p = 2.f / 11;
  p = fmaf(p, z, 2.f / 9);
  p = fmaf(p, z, 2.f / 7);
  p = fmaf(p, z, 2.f / 5);
  p = fmaf(p, z, 2.f / 3);
  // 2s = f − s·f, which keeps the rounding of s out of the leading term
  float low = fmaf((float)n, 1.42860677e-6f, s * fmaf(p, z, -f));
  return fmaf((float)n, 0.693145752f, f + low);
}

// hg_log (double): as above to s²³.
HG_DEVICE double hg_log(double x) {
  if (!(x > 0.)) return x == 0. ? -(double)HG_INF : (double)HG_NAN;
  if (x > 1.7976931348623157e308) return x;
  int n = 0;
  if (x < 2.2250738585072014e-308) {
    x *= 18014398509481984.;
    n = -54;
  }
  u64 bits = (u64)__double_as_longlong(x);
  n += (int)(bits >> 52) - 1023;
  double m = __longlong_as_double((i64)((bits & 0x000fffffffffffffull) | 0x3ff0000000000000ull));
  if (m > 1.4142135623730951) {
    m *= 0.5;
    n++;
  }
  double f = m - 1., s = f / (m + 1.), z = s * s;
  double p = 2. / 23;
  p = fma(p, z, 2. / 21);
  p = fma(p, z, 2. / 19);
  p = fma(p, z, 2. / 17);
  p = fma(p, z, 2. / 15);
  p = fma(p, z, 2. / 13);
  p = fma(p, z, 2. / 11);
  p = fma(p, z, 2. / 9);
  p = fma(p, z, 2. / 7);
  p = fma(p, z, 2. / 5);
  p = fma(p, z, 2. / 3);
  double low = fma((double)n, 1.90821492927058770002e-10, s * fma(p, z, -f));
  return fma((double)n, 6.93147180369123816490e-01, f + low);
}

HG_DEVICE float hg_log2(float x) { return (float)(hg_log((double)x) * 1.4426950408889634074); }
HG_DEVICE double hg_log2(double x) { return hg_log(x) * 1.4426950408889634074; }

// hg_log1p is log(1 + x). The quotient corrects the rounding of 1 + x.
HG_DEVICE double hg_log1p(double x) {
  double u = 1. + x;
  if (u == 1.) return x;
  if (u > 1e300) return hg_log(u);
  return hg_log(u) * (x / (u - 1.));
}
HG_DEVICE float hg_log1p(float x) { return (float)hg_log1p((double)x); }

// hg_pow is x^p for x ≥ 0, through double, so within one unit in the last place.
HG_DEVICE float hg_pow(float x, float p) {
  if (p == 0.f) return 1.f;
  if (x == 0.f) return p > 0.f ? 0.f : HG_INF;
  return (float)hg_exp((double)p * hg_log((double)x));
}

// hg_sigmoid is 1/(1 + e^−x), without overflow.
HG_DEVICE float hg_sigmoid(float x) {
  float e = hg_exp(-fabsf(x));
  return (x >= 0.f ? 1.f : e) / (1.f + e);
}
HG_DEVICE double hg_sigmoid(double x) {
  double e = hg_exp(-fabs(x));
  return (x >= 0. ? 1. : e) / (1. + e);
}

// hg_tanh within 4 units in the last place: the fifth convergent of the continued
// fraction near 0, and 1 − 2/(e^2|x| + 1) elsewhere.
HG_DEVICE float hg_tanh(float x) {
  float a = fabsf(x), z = x * x;
  if (a < 0.55f) return x * fmaf(z, z + 105.f, 945.f) / fmaf(z, fmaf(z, 15.f, 420.f), 945.f);
  float t = 1.f - 2.f / (hg_exp(2.f * a) + 1.f);
  return x < 0.f ? -t : x != x ? x : t;
}

// hg_normal has what the normal distribution function Φ at x needs: Φ(−|x|) is ½·t·e^(log − x²/2). With
// z = |x|/√2, t = 1/(1 + z/2), and log is the polynomial of degree 9 in t that is nearest to the logarithm
// of erfc(z)·e^z²/t on z ≤ 10.6 (made by mpmath's chebyfit, error 5.5e-8). Beyond x²/2 = 104, Φ(−|x|) is 0.
struct hg_normal {
  float half, rest; // x²/2 and what its rounding lost
  float t, log;

  HG_METHOD explicit hg_normal(float x) {
    half = 0.5f * x * x, rest = fmaf(0.5f * x, x, -half);
    t = 1.f / fmaf(0.353553391f, fabsf(x), 1.f);
    float p = 0.15306314114247f;
    p = fmaf(p, t, -0.724637538672286f);
    p = fmaf(p, t, 1.25851199496379f);
    p = fmaf(p, t, -0.829675153688078f);
    p = fmaf(p, t, 0.0281183044828881f);
    p = fmaf(p, t, -0.0551272926067013f);
    p = fmaf(p, t, 0.053319855560329f);
    p = fmaf(p, t, 0.382832988272374f);
    p = fmaf(p, t, 0.999062157782495f);
    log = fmaf(p, t, -1.26546840365549f);
  }

  // phi is Φ(x) from tail, which is e^(log − x²/2).
  HG_METHOD float phi(float x, float tail) const {
    tail = half > 104.f ? 0.f : 0.5f * t * tail;
    return x < 0.f ? tail : 1.f - tail;
  }
};

// hg_phi is Φ(x), the normal distribution function, within 4e-7 of itself, also where it is small.
HG_DEVICE float hg_phi(float x) {
  hg_normal n(x);
  return n.phi(x, hg_exp_sum(-n.half, n.log - n.rest));
}

// hg_phi_slope is (x·Φ(x))′ = Φ(x) + x·φ(x).
HG_DEVICE float hg_phi_slope(float x) {
  hg_normal n(x);
  float e = n.half > 104.f ? 0.f : hg_exp_sum(-n.half, -n.rest);
  return fmaf(x * 0.398942280f, e, n.phi(x, e * hg_exp_sum(n.log, 0.f)));
}

// hg_normal_inverse is Φ⁻¹(p) for p in [1e-10, 1 − 1e-10], within 1e-15: Wichura,
// "Algorithm AS 241", Applied Statistics 37 (1988), routine PPND16.
HG_DEVICE double hg_normal_inverse(double p) {
  double q = p - 0.5;
  if (fabs(q) <= 0.425) {
    double r = 0.180625 - q * q;
    double a = 2.5090809287301226727e3, b = 5.2264952788528545610e3;
    a = fma(a, r, 3.3430575583588128105e4), b = fma(b, r, 2.8729085735721942674e4);
    a = fma(a, r, 6.7265770927008700853e4), b = fma(b, r, 3.9307895800092710610e4);
    a = fma(a, r, 4.5921953931549871457e4), b = fma(b, r, 2.1213794301586595867e4);
    a = fma(a, r, 1.3731693765509461125e4), b = fma(b, r, 5.3941960214247511077e3);
    a = fma(a, r, 1.9715909503065514427e3), b = fma(b, r, 6.8718700749205790830e2);
    a = fma(a, r, 1.3314166789178437745e2), b = fma(b, r, 4.2313330701600911252e1);
    a = fma(a, r, 3.3871328727963666080e0), b = fma(b, r, 1.);
    return q * a / b;
  }
  double r = sqrt(-hg_log(q < 0 ? p : 1. - p)) - 1.6;
  double c = 7.74545014278341407640e-4, d = 1.05075007164441684324e-9;
  c = fma(c, r, 2.27238449892691845833e-2), d = fma(d, r, 5.47593808499534494600e-4);
  c = fma(c, r, 2.41780725177450611770e-1), d = fma(d, r, 1.51986665636164571966e-2);
  c = fma(c, r, 1.27045825245236838258e0), d = fma(d, r, 1.48103976427480074590e-1);
  c = fma(c, r, 3.64784832476320460504e0), d = fma(d, r, 6.89767334985100004550e-1);
  c = fma(c, r, 5.76949722146069140550e0), d = fma(d, r, 1.67638483018380384940e0);
  c = fma(c, r, 4.63033784615654529590e0), d = fma(d, r, 2.05319162663775882187e0);
  c = fma(c, r, 1.42343711074968357734e0), d = fma(d, r, 1.);
  return q < 0 ? -c / d : c / d;
}
