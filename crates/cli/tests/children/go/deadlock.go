// Waits for the end of a child whose output it does not read.
package main

import "os/exec"

func main() {
	child := exec.Command("seq", "300000")
	child.StdoutPipe()
	child.Start()
	child.Process.Wait()
}
