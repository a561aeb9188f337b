// CUB's traits of the types of keys: the bits in whose order keys are.
#pragma once

#include <limits>

#include "morph/cub_util.h"
#include "morph/halves.h"

namespace cub {

enum Category { NOT_A_NUMBER, SIGNED_INTEGER, UNSIGNED_INTEGER, FLOATING_POINT };

template <class T>
struct Traits {
  using UnsignedBits = std::conditional_t<
      sizeof(T) == 1, unsigned char,
      std::conditional_t<sizeof(T) == 2, unsigned short, std::conditional_t<sizeof(T) == 4, unsigned, unsigned long long>>>;
  static constexpr Category CATEGORY = std::is_floating_point_v<T> || morph_cuda::is_short<T> ? FLOATING_POINT
                                       : !std::is_integral_v<T>                                ? NOT_A_NUMBER
                                       : std::is_signed_v<T>                                   ? SIGNED_INTEGER
                                                                                               : UNSIGNED_INTEGER;
  enum { PRIMITIVE = CATEGORY != NOT_A_NUMBER, NULL_TYPE = std::is_same_v<T, NullType> };
  static constexpr UnsignedBits HIGH_BIT = UnsignedBits(UnsignedBits(1) << (8 * sizeof(UnsignedBits) - 1));

  // Of a negative number each bit is turned, of another the highest; so is that of an integer with a sign.
  static constexpr UnsignedBits TwiddleIn(UnsignedBits key) {
    if (CATEGORY == UNSIGNED_INTEGER) return key;
    return UnsignedBits(CATEGORY == FLOATING_POINT && key & HIGH_BIT ? ~key : key ^ HIGH_BIT);
  }
  static constexpr UnsignedBits TwiddleOut(UnsignedBits key) {
    if (CATEGORY == UNSIGNED_INTEGER) return key;
    return UnsignedBits(CATEGORY == FLOATING_POINT && !(key & HIGH_BIT) ? ~key : key ^ HIGH_BIT);
  }
};
template <class T> struct NumericTraits : Traits<T> {};

}  // namespace cub
