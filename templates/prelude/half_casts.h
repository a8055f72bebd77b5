// half_casts: conversions by CUDA's names.
KILN_FN float16 __float2half(float v) { return v; }
KILN_FN float16 __float2half_rn(float v) { return v; }
KILN_FN float16 __double2half(double v) { return v; }
KILN_FN float __half2float(float16 v) { return v; }
