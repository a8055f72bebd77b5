//% section both
//% section only on cuda needs both when only @both&x !some.h
both kinds

//% lines
#define ONE 1
#define CALL(x) x
typedef unsigned int number;
//% lines on cpu
typedef int pointer;

//% for x
//% | sin cos
//% | tan
//% section ${x} on cpu when ${x}
int ${x}(int);
//% end

//% for x | text
//% | left | a | b
//% | right |
//% section op_${x}
int ${x}(${text});
//% end
