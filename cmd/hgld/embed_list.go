package main

import (
	"strings"

	"github.com/urfave/cli/v2"

	textenc "hgld/train/text"
)

// listEncoders is `hgld embed --list`.
func listEncoders(c *cli.Context, j *job) error {
	type row struct {
		Name    string              `json:"name"`
		About   string              `json:"about"`
		Weights []textenc.Published `json:"weights,omitempty"`
	}
	var rows []row
	for _, e := range encoders {
		r := row{Name: e.Name, About: e.About}
		if f, ok := e.Value.(fileEncoder); ok {
			r.Weights = f.known
		}
		rows = append(rows, r)
	}
	if j.json {
		return writeJSON(j, rows)
	}
	for _, r := range rows {
		j.print("%-8s %s\n", r.Name, r.About)
		for _, w := range r.Weights {
			j.print("           %s: %s\n", w.From, w.About)
			j.print("             files %s; licence %s\n", strings.Join(w.Files, ", "), w.Licence)
			if w.SHA256 != "" {
				j.print("             %s: %d bytes, sha256 %s\n", w.Files[0], w.Bytes, w.SHA256)
			}
		}
	}
	j.print("\nRepositories are on huggingface.co unless stated otherwise. hgld does not download: get the files with " +
		"any\n" +
		"client, put them into one folder, and name it with --weights. hgld hashes the file that it reads and\n" +
		"records the sha256 as the origin of the vectors.\n")
	return nil
}
