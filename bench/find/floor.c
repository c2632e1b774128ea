/* The least that a walk costs: opens every directory, lists it until nothing more comes, closes it, and does nothing else, on one
   thread. What `cargo xtask bench find` measures walks against. `floor TREE` */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct entry {
    unsigned long number;
    long next;
    unsigned short length;
    unsigned char type;
    char name[];
};

enum { DIRECTORY = 4 };

static char buffer[64 << 10];

/* Names of directories that are yet to be visited, one after the other, those of the deepest last. */
static char *names;
static size_t used, room;

static int is_dots(const char *name) {
    return name[0] == '.' && (!name[1] || (name[1] == '.' && !name[2]));
}

static void keep(const char *name) {
    size_t length = strlen(name) + 1;
    if (used + length > room) {
        room = 2 * room + length;
        names = realloc(names, room);
        if (!names)
            abort();
    }
    memcpy(names + used, name, length);
    used += length;
}

static void visit(int above, const char *name) {
    int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW;
    int directory = syscall(SYS_openat, above, name, flags);
    size_t first = used;
    long filled;
    if (directory < 0)
        return;
    while ((filled = syscall(SYS_getdents64, directory, buffer, sizeof buffer)) > 0) {
        for (long at = 0; at < filled;) {
            struct entry *entry = (struct entry *)(buffer + at);
            at += entry->length;
            if (entry->type == DIRECTORY && !is_dots(entry->name))
                keep(entry->name);
        }
    }
    for (size_t next = first, end = used; next < end;) {
        /* What is below moves the names. */
        char below[256];
        strcpy(below, names + next);
        next += strlen(below) + 1;
        visit(directory, below);
    }
    used = first;
    syscall(SYS_close, directory);
}

int main(int count, char **words) {
    visit(AT_FDCWD, count > 1 ? words[1] : ".");
    return 0;
}
