/*
 * pool_tree.c - the free blocks of an arena, ordered by size and then by address: a treap.
 *
 *     pool_alloc -> arena_take -> [best_fit, remove, insert the rest]
 *     pool_free  -> arena_put  -> [remove the neighbours, insert the whole]
 *
 * Why a treap: exact best fit needs an ordered structure, and the links must live in the nodes
 * (an allocator that allocates is slow). A treap has both, is O(log n) whatever the order of the
 * operations (priorities are pseudo-random), and needs neither rebalancing cases nor parent links
 * in 60 lines. Bins with bitmaps (TLSF) are O(1) but only good fit; in a random trace that costs
 * several percent of memory, and memory is what GPUs are short of.
 *
 * Rule: no two nodes are equal, for no two blocks of one arena share an address.
 */
#include "device/pool.h"

static inline bool comes_before(const kiln__node *a, const kiln__node *b)
{
    if (a->block.bytes != b->block.bytes)
        return a->block.bytes < b->block.bytes;
    return (uintptr_t)a->block.address < (uintptr_t)b->block.address;
}

void kiln__tree_insert(kiln__node **root, kiln__node *node)
{
    kiln__node **at = root;
    while (*at != NULL && (*at)->priority >= node->priority)
        at = comes_before(node, *at) ? &(*at)->left : &(*at)->right;

    /* `node` takes this place; what was here is split into what comes before and after it. */
    kiln__node *rest = *at;
    kiln__node **low = &node->left, **high = &node->right;
    *at = node;
    while (rest != NULL) {
        if (comes_before(rest, node)) {
            *low = rest;
            low = &rest->right;
            rest = rest->right;
        } else {
            *high = rest;
            high = &rest->left;
            rest = rest->left;
        }
    }
    *low = NULL;
    *high = NULL;
}

void kiln__tree_remove(kiln__node **root, kiln__node *node)
{
    kiln__node **at = root;
    while (*at != node)
        at = comes_before(node, *at) ? &(*at)->left : &(*at)->right;

    /* Merge the two subtrees into the node's place, the higher priority on top. */
    kiln__node *low = node->left, *high = node->right;
    while (low != NULL && high != NULL) {
        if (low->priority >= high->priority) {
            *at = low;
            at = &low->right;
            low = low->right;
        } else {
            *at = high;
            at = &high->left;
            high = high->left;
        }
    }
    *at = low != NULL ? low : high;
}

kiln__node *kiln__tree_best_fit(kiln__node *root, size_t bytes)
{
    kiln__node *best = NULL;
    while (root != NULL) {
        if (root->block.bytes >= bytes) {
            best = root;
            root = root->left;
        } else {
            root = root->right;
        }
    }
    return best;
}
