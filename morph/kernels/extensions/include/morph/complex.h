// thrust's complex numbers, which torch's own convert from and to in a CUDA source.
#pragma once

#include <cfloat>  // as thrust does: sources with torch's headers take FLT_MIN from there
#include <cmath>
#include <complex>

namespace thrust {

template <class T>
struct complex : std::complex<T> {
  using Base = std::complex<T>;
  using Base::Base;
  constexpr complex() = default;
  constexpr complex(const Base& z) : Base(z) {}
  template <class U>
  explicit constexpr complex(const complex<U>& z) : Base(T(z.real()), T(z.imag())) {}
};

#define MORPH_OF_COMPLEX(NAME) \
  template <class T> inline complex<T> NAME(const complex<T>& z) { return std::NAME(std::complex<T>(z)); }
MORPH_OF_COMPLEX(acos)
MORPH_OF_COMPLEX(acosh)
MORPH_OF_COMPLEX(asin)
MORPH_OF_COMPLEX(asinh)
MORPH_OF_COMPLEX(atan)
MORPH_OF_COMPLEX(atanh)
MORPH_OF_COMPLEX(conj)
MORPH_OF_COMPLEX(cos)
MORPH_OF_COMPLEX(cosh)
MORPH_OF_COMPLEX(exp)
MORPH_OF_COMPLEX(log)
MORPH_OF_COMPLEX(log10)
MORPH_OF_COMPLEX(proj)
MORPH_OF_COMPLEX(sin)
MORPH_OF_COMPLEX(sinh)
MORPH_OF_COMPLEX(sqrt)
MORPH_OF_COMPLEX(tan)
MORPH_OF_COMPLEX(tanh)
#undef MORPH_OF_COMPLEX
template <class T> inline T abs(const complex<T>& z) { return std::abs(std::complex<T>(z)); }
template <class T> inline T arg(const complex<T>& z) { return std::arg(std::complex<T>(z)); }
template <class T> inline T norm(const complex<T>& z) { return std::norm(std::complex<T>(z)); }
template <class T> inline complex<T> polar(const T& r, const T& angle = T()) { return std::polar(r, angle); }
template <class T> inline complex<T> pow(const complex<T>& z, const complex<T>& to) {
  return std::pow(std::complex<T>(z), std::complex<T>(to));
}
template <class T> inline complex<T> pow(const complex<T>& z, const T& to) { return std::pow(std::complex<T>(z), to); }
template <class T> inline complex<T> pow(const T& x, const complex<T>& to) { return std::pow(x, std::complex<T>(to)); }

}  // namespace thrust
