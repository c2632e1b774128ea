// Counts in several goroutines: count HOW-MANY ROUNDS.
package main

import (
	"fmt"
	"os"
	"strconv"
	"sync"
)

func count(rounds int) int {
	total := 0
	for i := 0; i < rounds; i++ {
		total += i % 7
	}
	return total
}

func main() {
	many, _ := strconv.Atoi(os.Args[1])
	rounds, _ := strconv.Atoi(os.Args[2])
	totals := make([]int, many)
	var all sync.WaitGroup
	for i := range totals {
		all.Add(1)
		go func(i int) {
			defer all.Done()
			totals[i] = count(rounds)
		}(i)
	}
	all.Wait()
	fmt.Println(totals[0])
}
