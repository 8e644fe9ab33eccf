// SPDX-License-Identifier: Apache-2.0
// linear.cpp: rows of decompositions and linear systems of small matrices. Derivatives at repeated
// singular values and eigenvalues leave out what depends on the choice of vectors alone.
#include "csrc/codegen/builtins/tables.h"

namespace wt::builtins {
namespace {

constexpr std::string_view kGroup = "Linear algebra";
/// Rows that only the rules of others use.
constexpr std::string_view kInternal = "Internal";

// With A = U S V^T: what turns the singular vectors is split into a part that the gap of two
// singular values divides and one that their sum divides, so that the rotation U V^T has its
// derivative at repeated values too.
constexpr std::string_view kSvdRule =
    "x = mul(transpose(r0), d0); p = x - transpose(x); y = mul(transpose(r2), d2); q = y - "
    "transpose(y); k = 0.5 * (cw_mul(p + q, _gaps(r1)) + cw_mul(p - q, _sums(r1))); "
    "A += mul(mul(r0, k + diag(d1)), transpose(r2))";

constexpr std::string_view kQrRule =
    "m = mul(r1, transpose(d1)) - mul(transpose(d0), r0); l = _strict(m); x = d0 + "
    "mul(r0, l + transpose(l) + diag(get_diag(m))); A += transpose(solve(r1, "
    "transpose(x)))";
constexpr std::string_view kEigRule =
    "x = mul(transpose(r0), d0); k = 0.5 * cw_mul(x - transpose(x), _gaps(r1)); A += "
    "mul(mul(r0, k + diag(d1)), transpose(r0))";

// One row is a few full lines, not one line a field.
// clang-format off
constexpr BuiltinDef kRows[] = {
    {.name = "svd2", .sig = "(A: mat<2,2,F>) -> (mat<2,2,F>, vec<2,F>, mat<2,2,F>)",
     .code = "wt_svd2<{F}>({&A}, {&r0}, {&r1}, {&r2})", .device = "linear", .vjp = kSvdRule,
     .grad = Grad::kRule, .domain = "-1..1", .group = kGroup,
     .doc = "U, sigma, V with A = U diag(sigma) V^T; sigma is not negative and falls, V is a "
            "rotation."},
    {.name = "svd3", .sig = "(A: mat<3,3,F>) -> (mat<3,3,F>, vec<3,F>, mat<3,3,F>)",
     .code = "wt_svd3<{F}>({&A}, {&r0}, {&r1}, {&r2})", .device = "linear", .vjp = kSvdRule,
     .grad = Grad::kRule, .domain = "-1..1", .group = kGroup,
     .doc = "U, sigma, V with A = U diag(sigma) V^T; U and V are rotations, so the last value of "
            "sigma has the sign of the determinant."},
    {.name = "svd", .sig = "(A: mat<N,N,F>) -> (mat<N,N,F>, vec<N,F>, mat<N,N,F>)",
     .code = "wt_svd<{F}, {N}>({&A}, {&r0}, {&r1}, {&r2})", .device = "linear svd",
     .vjp = kSvdRule, .grad = Grad::kRule, .domain = "-1..1", .group = kGroup,
     .doc = "U, sigma, V with A = U diag(sigma) V^T for a matrix of any size; sigma is not negative "
            "and falls, V is a rotation."},
    {.name = "qr3", .sig = "(A: mat<3,3,F>) -> (mat<3,3,F>, mat<3,3,F>)",
     .code = "wt_orthonormal<{F}>({&A}, {&r0}, {&r1})", .device = "linear",
     .vjp = kQrRule,
     .grad = Grad::kRule, .domain = "-1..1", .group = kGroup,
     .doc = "Q, R with A = Q R; Q is a rotation and R upper triangular. The derivative is not finite "
            "where A is singular."},
    {.name = "eig3", .sig = "(A: mat<3,3,F>) -> (mat<3,3,F>, vec<3,F>)",
     .code = "wt_eig<{F}, 3>({&A}, {&r0}, {&r1})", .device = "linear",
     .vjp = kEigRule,
     .grad = Grad::kRule, .domain = "-1..1", .group = kGroup,
     .doc = "Q, d with A = Q diag(d) Q^T for the symmetric part of A; columns of Q are the "
            "eigenvectors, d rises."},
    {.name = "eig", .sig = "(A: mat<N,N,F>) -> (mat<N,N,F>, vec<N,F>)",
     .code = "wt_eig<{F}, {N}>({&A}, {&r0}, {&r1})", .device = "linear", .vjp = kEigRule,
     .grad = Grad::kRule, .domain = "-1..1", .group = kGroup,
     .doc = "eig3 for a matrix of any size."},
    {.name = "svd2", .sig = "(A: mat<2,2,F>, U: inout mat<2,2,F>, sigma: inout vec<2,F>, V: inout "
            "mat<2,2,F>) -> ()",
     .code = "wt_svd2<{F}>({&A}, {&r0}, {&r1}, {&r2})", .device = "linear", .vjp = kSvdRule,
     .grad = Grad::kRule, .domain = "-1..1", .group = kGroup,
     .doc = "svd2 into the variables U, sigma and V."},
    {.name = "svd3", .sig = "(A: mat<3,3,F>, U: inout mat<3,3,F>, sigma: inout vec<3,F>, V: inout "
            "mat<3,3,F>) -> ()",
     .code = "wt_svd3<{F}>({&A}, {&r0}, {&r1}, {&r2})", .device = "linear", .vjp = kSvdRule,
     .grad = Grad::kRule, .domain = "-1..1", .group = kGroup,
     .doc = "svd3 into the variables U, sigma and V."},
    {.name = "qr3", .sig = "(A: mat<3,3,F>, Q: inout mat<3,3,F>, R: inout mat<3,3,F>) -> ()",
     .code = "wt_orthonormal<{F}>({&A}, {&r0}, {&r1})", .device = "linear", .vjp = kQrRule,
     .grad = Grad::kRule, .domain = "-1..1", .group = kGroup,
     .doc = "qr3 into the variables Q and R."},
    {.name = "eig3", .sig = "(A: mat<3,3,F>, Q: inout mat<3,3,F>, d: inout vec<3,F>) -> ()",
     .code = "wt_eig<{F}, 3>({&A}, {&r0}, {&r1})", .device = "linear", .vjp = kEigRule,
     .grad = Grad::kRule, .domain = "-1..1", .group = kGroup,
     .doc = "eig3 into the variables Q and d."},
    {.name = "solve", .sig = "(a: mat<N,N,F>, b: vec<N,F>) -> vec<N,F>",
     .code = "wt_solve<{F}, {N}, 1>({&a}, {&b}, {&r})", .device = "linear",
     .vjp = "g = solve(transpose(a), d); b += g; a += -outer(g, r)", .grad = Grad::kRule,
     .domain = "-1..1", .group = kGroup,
     .doc = "x with a x = b; not finite where a is singular."},
    {.name = "solve", .sig = "(a: mat<N,N,F>, b: mat<N,K,F>) -> mat<N,K,F>",
     .code = "wt_solve<{F}, {N}, {K}>({&a}, {&b}, {&r})", .device = "linear",
     .vjp = "g = solve(transpose(a), d); b += g; a += -mul(g, transpose(r))", .grad = Grad::kRule,
     .domain = "-1..1", .group = kGroup,
     .doc = "x with a x = b for every column of b; not finite where a is singular."},
    {.name = "cholesky", .sig = "(a: mat<N,N,F>) -> mat<N,N,F>",
     .code = "wt_cholesky<{F}, {N}>({&a}, {&r})", .device = "linear",
     .vjp = "m = mul(transpose(r), d); p = _strict(m) + diag(0.5 * get_diag(m)); x = "
            "solve(transpose(r), p); s = solve(transpose(r), transpose(x)); a += 0.5 * (s + "
            "transpose(s))",
     .grad = Grad::kRule, .domain = "-1..1", .group = kGroup,
     .doc = "Lower triangular L with L L^T the symmetric part of a, which must be positive "
            "definite."},
    {.name = "cholesky_solve", .sig = "(l: mat<N,N,F>, b: vec<N,F>) -> vec<N,F>",
     .code = "wt_cholesky_solve<{F}, {N}>({&l}, {&b}, {&r})", .device = "linear",
     .vjp = "g = cholesky_solve(l, d); b += g; m = -mul(outer(g, r) + outer(r, g), _lower(l)); "
            "l += _lower(m)",
     .grad = Grad::kRule, .domain = "-1..1", .group = kGroup,
     .doc = "x with l l^T x = b for the lower triangular l of cholesky()."},
    {.name = "ldlt", .sig = "(a: mat<N,N,F>) -> (mat<N,N,F>, vec<N,F>)",
     .code = "wt_ldlt<{F}, {N}>({&a}, {&r0}, {&r1})", .device = "linear",
     .vjp = "m = mul(transpose(r0), d0); g = mul(_strict(m), diag(1 / r1)) + diag(d1); x = "
            "solve(transpose(r0), g); s = solve(transpose(r0), transpose(x)); a += 0.5 * (s + "
            "transpose(s))",
     .grad = Grad::kRule, .domain = "-1..1", .group = kGroup,
     .doc = "L, d with L diag(d) L^T the symmetric part of a; L is lower triangular with a unit "
            "diagonal."},
    {.name = "determinant", .sig = "(a: mat<P,P,F>) -> F",
     .code = "wt_determinant<{F}, {P}>({&a})", .device = "linear",
     .vjp = "a += d * _cofactors(a)", .grad = Grad::kRule, .domain = "-2..2", .group = kGroup,
     .doc = "Determinant of a matrix of any size."},
    {.name = "inverse", .sig = "(a: mat<P,P,F>) -> mat<P,P,F>",
     .code = "wt_inverse<{F}, {P}>({&a}, {&r})", .device = "linear",
     .vjp = "a += -mul(mul(transpose(r), d), transpose(r))", .grad = Grad::kRule,
     .domain = "-2..2", .group = kGroup,
     .doc = "Inverse matrix of any size; the zero matrix where a is singular."},
    {.name = "_cofactors", .sig = "(a: mat<P,P,F>) -> mat<P,P,F>",
     .code = "wt_cofactors<{F}, {P}>({&a}, {&r})", .device = "linear",
     .vjp = "x = transpose(inverse(a)); a += ddot(d, r) * x - mul(mul(x, transpose(d)), r)",
     .grad = Grad::kRule, .domain = "-1..1", .group = kInternal,
     .doc = "Derivative of the determinant."},
    {.name = "_strict", .sig = "(a: mat<N,N,F>) -> mat<N,N,F>",
     .code = "[i,j] {i} > {j} ? {a}[i,j] : 0", .vjp = "a += _strict(d)", .grad = Grad::kRule,
     .domain = "-1..1", .group = kInternal, .doc = "What is below the diagonal."},
    {.name = "_lower", .sig = "(a: mat<N,N,F>) -> mat<N,N,F>",
     .code = "[i,j] {i} >= {j} ? {a}[i,j] : 0", .vjp = "a += _lower(d)", .grad = Grad::kRule,
     .domain = "-1..1", .group = kInternal, .doc = "The diagonal and what is below it."},
    {.name = "_gaps", .sig = "(s: vec<N,F>) -> mat<N,N,F>", .code = "wt_gaps<{F}, {N}>({&s}, {&r})",
     .device = "linear",
     .vjp = "g = -cw_mul(d, cw_mul(r, r)); o = _ones(s); s += mul(o, g) - mul(g, o)",
     .grad = Grad::kRule, .domain = "-1..1", .group = kInternal,
     .doc = "1 / (s[j] - s[i]), 0 where they are equal."},
    {.name = "_sums", .sig = "(s: vec<N,F>) -> mat<N,N,F>", .code = "wt_sums<{F}, {N}>({&s}, {&r})",
     .device = "linear",
     .vjp = "g = -cw_mul(d, cw_mul(r, r)); o = _ones(s); s += mul(o, g) + mul(g, o)",
     .grad = Grad::kRule, .domain = "0.1..1", .group = kInternal,
     .doc = "1 / (s[j] + s[i]) off the diagonal, 0 where they cancel."},
    {.name = "_ones", .sig = "(like: vec<N,F>) -> vec<N,F>", .code = "{F}(1)",
     .grad = Grad::kZero, .domain = "-1..1", .group = kInternal, .doc = "A vector of ones."},
};
// clang-format on
static_assert(rows_ok(kRows), "a row lacks name, sig, code, grad decision, group or doc");

}  // namespace

std::span<const BuiltinDef> linear_rows() { return kRows; }

}  // namespace wt::builtins
