package fakecommons

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"strconv"
)

// WriteExpected writes what [Expected] returns as a CSV of landmark_id, outcome and tag.
func WriteExpected(w io.Writer, categories []Category) error {
	outcomes, tags := Expected(categories)
	table := csv.NewWriter(w)
	_ = table.Write([]string{"landmark_id", "outcome", "tag"}) // Error has the error
	for i, c := range categories {
		_ = table.Write([]string{strconv.Itoa(int(c.Landmark)), string(outcomes[i]), tags[i]})
	}
	table.Flush()
	return table.Error()
}

// WriteLog writes one line of JSON for each request.
func WriteLog(w io.Writer, requests []Request) error {
	enc := json.NewEncoder(w)
	for _, r := range requests {
		if err := enc.Encode(r); err != nil {
			return err
		}
	}
	return nil
}
