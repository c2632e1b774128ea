// Runs a command and prints what getrusage(2) says of it, a name and a number a line: usage COMMAND [ARGUMENT]...
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv) {
    if (argc < 2) return EXIT_FAILURE;
    pid_t child = fork();
    if (child == 0) {
        execvp(argv[1], argv + 1);
        _exit(127);
    }
    int status;
    struct rusage use;
    if (child < 0 || wait4(child, &status, 0, &use) < 0) return EXIT_FAILURE;
    printf("user_ns %lld\nsys_ns %lld\n", use.ru_utime.tv_sec * 1000000000LL + use.ru_utime.tv_usec * 1000LL,
           use.ru_stime.tv_sec * 1000000000LL + use.ru_stime.tv_usec * 1000LL);
    printf("peak_rss_bytes %ld\nminor_faults %ld\nmajor_faults %ld\n", use.ru_maxrss * 1024, use.ru_minflt, use.ru_majflt);
    printf("block_inputs %ld\nblock_outputs %ld\n", use.ru_inblock, use.ru_oublock);
    printf("voluntary_switches %ld\ninvoluntary_switches %ld\n", use.ru_nvcsw, use.ru_nivcsw);
    return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE;
}
