// Reads at once what its child writes.
package main

import "os/exec"

func main() { exec.Command("seq", "2000000").Output() }
