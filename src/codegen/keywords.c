/*
 * keywords.c - the words of C++ that no parameter and no kernel may be called.
 *
 * Words that only C++20 reserves are refused as well: which standard a snippet is compiled for is
 * up to the compiler found, and a definition must mean the same with each.
 *
 * definition.c, signature.c, words.c and src/fusion ask this file. Test: test_signature.
 */
#include <stdlib.h>

#include "codegen/lexer.h"

/* Sorted as strcmp() sorts. */
static const char *const KEYWORDS[] = {
    "alignas",       "alignof",     "and",
    "and_eq",        "asm",         "auto",
    "bitand",        "bitor",       "bool",
    "break",         "case",        "catch",
    "char",          "char16_t",    "char32_t",
    "char8_t",       "class",       "co_await",
    "co_return",     "co_yield",    "compl",
    "concept",       "const",       "const_cast",
    "consteval",     "constexpr",   "constinit",
    "continue",      "decltype",    "default",
    "delete",        "do",          "double",
    "dynamic_cast",  "else",        "enum",
    "explicit",      "export",      "extern",
    "false",         "float",       "for",
    "friend",        "goto",        "if",
    "inline",        "int",         "long",
    "mutable",       "namespace",   "new",
    "noexcept",      "not",         "not_eq",
    "nullptr",       "operator",    "or",
    "or_eq",         "private",     "protected",
    "public",        "register",    "reinterpret_cast",
    "requires",      "return",      "short",
    "signed",        "sizeof",      "static",
    "static_assert", "static_cast", "struct",
    "switch",        "template",    "this",
    "thread_local",  "throw",       "true",
    "try",           "typedef",     "typeid",
    "typename",      "union",       "unsigned",
    "using",         "virtual",     "void",
    "volatile",      "wchar_t",     "while",
    "xor",           "xor_eq",
};

static int compare(const void *key, const void *item)
{
    return strcmp(key, *(const char *const *)item);
}

bool kiln__is_cpp_keyword(const char *word)
{
    return bsearch(word, KEYWORDS, KILN_COUNT_OF(KEYWORDS), sizeof *KEYWORDS, compare) != NULL;
}
