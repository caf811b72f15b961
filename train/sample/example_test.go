package sample_test

import (
	"fmt"
	"log"

	"hgld/labels"
	"hgld/train/sample"
)

// Each batch has two classes with two rows of each. Class 2 has only one row and is skipped.
func ExampleMPerClass() {
	rows := []labels.Path{{0}, {0}, {1}, {1}, {2}, {0}, {0}, {1}, {1}}
	sampler := &sample.MPerClass{Batch: 4, M: 2}
	batches, err := sampler.Epoch(rows, 1, 0)
	if err != nil {
		log.Fatal(err)
	}
	for _, batch := range batches {
		count := map[int32]int{}
		for _, row := range batch {
			count[rows[row][0]]++
		}
		fmt.Println(len(batch), "rows by class:", count)
	}
	// Output:
	// 4 rows by class: map[0:2 1:2]
	// 4 rows by class: map[0:2 1:2]
}
