# cmake -D PROGRAM=kiln_make_templates -D WORK=folder -P test_templates.cmake
#
# What is wrong with templates is said when they are embedded, by file and line. Each row below is a
# folder of one template and one prelude file, of which one is at fault, and the message expected.

set(count 0)

# refused(message TEMPLATE text | PRELUDE text | FILE name ...)
function(refused message)
    cmake_parse_arguments(arg "" "TEMPLATE;PRELUDE;CPU;FILES" "" ${ARGN})
    foreach(name IN ITEMS TEMPLATE PRELUDE CPU FILES)
        if(NOT DEFINED arg_${name})
            set(arg_${name} "")
        endif()
    endforeach()
    if(arg_FILES STREQUAL "")
        set(arg_FILES "a.h\nb.cpu.h\n")
    endif()
    file(WRITE ${WORK}/words.txt "# Words.\nint .size\n")
    file(WRITE ${WORK}/list.txt "t.cpp\n")
    file(WRITE ${WORK}/t.cpp "${arg_TEMPLATE}")
    file(WRITE ${WORK}/prelude/files.txt "${arg_FILES}")
    file(WRITE ${WORK}/prelude/a.h "${arg_PRELUDE}")
    file(WRITE ${WORK}/prelude/b.cpu.h "${arg_CPU}")
    file(REMOVE ${WORK}/out.c)
    execute_process(COMMAND ${PROGRAM} ${WORK} ${WORK}/list.txt ${WORK}/out.c
                    RESULT_VARIABLE status ERROR_VARIABLE said)
    string(FIND "${said}" "${message}" at)
    if(message STREQUAL "")
        if(NOT status EQUAL 0 OR NOT said STREQUAL "" OR NOT EXISTS ${WORK}/out.c)
            message(SEND_ERROR "refused what is right: ${said}")
        endif()
    elseif(status EQUAL 0 OR at EQUAL -1 OR EXISTS ${WORK}/out.c)
        message(SEND_ERROR "expected \"${message}\", status ${status}: ${said}")
    endif()
    math(EXPR counted "${count} + 1")
    set(count ${counted} PARENT_SCOPE)
endfunction()

refused("" TEMPLATE "//% own a\n//% if b\na.size = 1\n//% end\n" PRELUDE "//% section a\nint a\n")

# words
refused("/t.cpp:2: the word `begn` is declared neither" TEMPLATE "//% own begin\nbegn = begin\n")
refused("/t.cpp:1: the member `lenght` is declared neither" TEMPLATE "int.lenght\n")
refused("/t.cpp:1: the word `size` is declared neither" TEMPLATE "size\n")
refused("/t.cpp:1: `begin` is declared and not used" TEMPLATE "//% own begin\n")
refused("`begin` is declared and not used" TEMPLATE "//% plain begin\n")
refused("/t.cpp:1: `a` is declared twice" TEMPLATE "//% own a a\na\n")
refused("/t.cpp:2: `a` is declared both as own and as plain" TEMPLATE "//% own a\n//% plain a\na\n")
refused("/t.cpp:1: `int` is a word of words.txt" TEMPLATE "//% own int\nint\n")

# blocks and directives
refused("/t.cpp:2: the block that begins here has no `end`" TEMPLATE "int\n//% if a\nint\n")
refused("/t.cpp:1: the block that begins here has no `end`" TEMPLATE "//% for a in b\n//% if c\n//% end\n")
refused("/t.cpp:1: `end` without `for` or `if`" TEMPLATE "//% end\n")
refused("/t.cpp:2: `else` without `if`" TEMPLATE "//% for a in b\n//% else\n//% end\n")
refused("/t.cpp:3: `else` without `if`" TEMPLATE "//% if b\n//% else\n//% else\n//% end\n")
refused("/t.cpp:1: expected `for NAME in LIST`" TEMPLATE "//% for a b\n//% end\n")
refused("/t.cpp:1: expected `if CONDITION`" TEMPLATE "//% if a b\n//% end\n")
refused("/t.cpp:1: unknown directive `whilst`" TEMPLATE "//% whilst a\n")
refused("/t.cpp:1: there is no template u.cpp" TEMPLATE "//% insert u.cpp\n")
refused("/t.cpp:1: there is no template t.cpp:a" TEMPLATE "//% insert :a\n")
refused("/t.cpp:3: there are two parts `a`" TEMPLATE "//% part a\nint\n//% part a\n")
refused("/t.cpp:1: a part needs a name" TEMPLATE "//% part\n")
refused("/t.cpp:1: the block that begins here has no `end`" TEMPLATE "//% if a\n//% part b\n//% end\n")
refused("/t.cpp:5: the word `a` is declared neither"
        TEMPLATE "//% part b\n//% own a\na\n//% part c\na\n")
refused("/t.cpp:1: insert what?" TEMPLATE "//% insert\n")
refused("/t.cpp:1: `\${` without `}`" TEMPLATE "int \${a\n")

# sections
refused("prelude/a.h:1: text before the first section" PRELUDE "int a\n")
refused("prelude/a.h:2: section `a` has no text" PRELUDE "//% section a\n//% lines\n#define B\n")
refused("prelude/a.h:1: unknown directive `sektion`" PRELUDE "//% sektion a\n")
refused("prelude/a.h:1: expected on, needs or when, not `neds`" PRELUDE "//% section a neds b\nint\n")
refused("prelude/a.h:1: `on gpu`: neither" PRELUDE "//% section a on gpu\nint\n")
refused("prelude/b.cpu.h:1: `on cuda`: neither" CPU "//% section a on cuda\nint\n")
refused("prelude/a.h:3: `when` belongs behind" PRELUDE "//% section a\nint\n//% when a\n")
refused("`a` needs `b`, which is no section" PRELUDE "//% section a needs b\nint\n")
refused("`a` needs `b`, which stands below it"
        PRELUDE "//% section a needs b\nint\n//% section b\nint\n")
refused("`a` waits for `b`, which is no section" PRELUDE "//% section a when c&@b\nint\n")
refused("prelude/a.h:2: the line declares nothing" PRELUDE "//% lines\nint\n")
refused("prelude/a.h:1: the loop that begins here has no `end`"
        PRELUDE "//% for x\n//% | a\n//% section \${x}\nint\n")
refused("the loop that begins here has no rows" PRELUDE "//% for x\n//% section \${x}\nint\n//% end\n")
refused("the row has not 2 columns" PRELUDE "//% for x | y\n//% | a\n//% section \${x}\nint\n//% end\n")
refused("prelude/a.h:3: unknown value \${z}" PRELUDE "//% for x\n//% | a\n//% section \${z}\nint\n//% end\n")
refused("prelude/c.h: cannot be read" FILES "a.h\nc.h\n")

if(count LESS 30)
    message(FATAL_ERROR "only ${count} cases ran")
endif()
