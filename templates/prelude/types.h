//% lines
typedef signed char int8;
typedef short int16;
typedef int int32;
typedef long long int64;
typedef unsigned char uint8;
typedef unsigned short uint16;
typedef unsigned int uint32;
typedef unsigned long long uint64;
typedef float float32;
typedef double float64;
typedef bool bool_;
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef long long longlong;
typedef unsigned long long ulonglong;
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;

//% lines on cuda
typedef long long int64_t;

//% lines on cpu
typedef __INT64_TYPE__ int64_t;

//% lines on cuda
typedef unsigned long long uint64_t;

//% lines on cpu
typedef __UINT64_TYPE__ uint64_t;

//% lines on cuda
typedef long long intptr_t;

//% lines on cpu
typedef __INTPTR_TYPE__ intptr_t;

//% lines on cuda
typedef unsigned long long uintptr_t;

//% lines on cpu
typedef __UINTPTR_TYPE__ uintptr_t;
