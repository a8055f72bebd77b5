// rcbrt (CPU): reciprocals of cubic roots.
KILN_FN float rcbrtf(float x) { return 1.0f / cbrtf(x); }
KILN_FN float rcbrt(float x) { return 1.0f / cbrtf(x); }
KILN_FN double rcbrt(double x) { return 1.0 / cbrt(x); }
