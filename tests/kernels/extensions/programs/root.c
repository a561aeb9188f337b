#include <math.h>
#include <stdio.h>

double root(double x) {
  int class = 0; /* which C++ would not take */
  fputs("", stderr);
  return sqrt(x) + class;
}
