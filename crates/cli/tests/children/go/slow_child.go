// Reads from a child that sleeps.
package main

import "os/exec"

func main() { exec.Command("sh", "-c", "sleep 1.5; echo 1").Output() }
