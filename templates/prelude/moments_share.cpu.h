// moments_share (CPU): which share of a set one part of it is; and what makes moments eight numbers, for
// compilers put those into vectors that come in powers of two.
#define KILN_MOMENTS_PAD(T, n) T pad[n];
template <class T> KILN_FN T kiln_moments_share(T part, T whole) { return part / whole; }
