// Of thrust. A program that brings headers of its own has its own too, with macros for these: cupy 14 does.
#pragma once
#if __has_include_next(<thrust/version.h>)
#include_next <thrust/version.h>
#endif
#ifndef THRUST_VERSION
#define THRUST_VERSION 200800
#endif
