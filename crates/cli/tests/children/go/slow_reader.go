// Reads only after a while what its child writes.
package main

import (
	"io"
	"os/exec"
	"time"
)

func main() {
	child := exec.Command("seq", "300000")
	out, _ := child.StdoutPipe()
	child.Start()
	time.Sleep(1500 * time.Millisecond)
	io.ReadAll(out)
	child.Wait()
}
