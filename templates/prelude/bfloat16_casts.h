// bfloat16_casts: conversions by CUDA's names.
KILN_FN bfloat16 __float2bfloat16(float v) { return v; }
KILN_FN bfloat16 __float2bfloat16_rn(float v) { return v; }
KILN_FN bfloat16 __double2bfloat16(double v) { return v; }
KILN_FN float __bfloat162float(bfloat16 v) { return v; }
