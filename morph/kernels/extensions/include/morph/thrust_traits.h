// The type traits that programs take from thrust's own namespace.
#pragma once

#include <type_traits>

namespace thrust::detail {

using std::add_const;
using std::conditional;
using std::enable_if;
using std::false_type;
using std::integral_constant;
using std::is_arithmetic;
using std::is_convertible;
using std::is_floating_point;
using std::is_integral;
using std::is_pointer;
using std::is_reference;
using std::is_same;
using std::is_signed;
using std::is_void;
using std::make_unsigned;
using std::remove_const;
using std::remove_cv;
using std::remove_pointer;
using std::remove_reference;
using std::true_type;

template <bool condition, class T = void> using disable_if = std::enable_if<!condition, T>;
template <class T> struct identity_ { using type = T; };

}  // namespace thrust::detail
