package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"hgld/internal/atomicfile"
	"hgld/labels"
	"hgld/scrape"
	"hgld/scrape/page"
)

func scrapeImportCommand() *cli.Command {
	return &cli.Command{
		Name: "import", Usage: "take tags that somebody scraped before from a CSV file", ArgsUsage: "FILE",
		Description: "  hgld scrape import rows.csv                            tags.jsonl from landmark_id, category, supercategory\n" +
			"  hgld scrape import --column instance_of --split train rows.csv   other names",
		Flags: append(commonFlags(),
			&cli.StringFlag{Name: "out", Usage: "tags to write, a line a landmark", Value: "tags.jsonl"},
			&cli.StringFlag{Name: "column", Usage: "`NAME` of the column with the tag", Value: "supercategory"},
			&cli.StringFlag{Name: "split", Usage: "`SPLIT` of the landmarks, where no column says it"},
			&cli.IntFlag{Name: "limit", Usage: "trial: take only the first `N` rows"},
		),
		Action: func(c *cli.Context) error {
			j, err := newJob(c)
			if err != nil {
				return err
			}
			if len(j.args) != 1 {
				return withHint(usagef("scrape import takes one file; got %d", len(j.args)), "hgld scrape import rows.csv")
			}
			return importTags(j, j.args[0], c.String("out"), c.String("column"), labels.Split(c.String("split")))
		},
	}
}

// importTags turns a table of landmarks and tags into tags.jsonl. A row with an
// empty tag is a landmark whose page has none.
func importTags(j *job, path, out, column string, split labels.Split) error {
	j.say("reading %s", path)
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	rows := csv.NewReader(f)
	head, err := rows.Read()
	if err != nil {
		return fmt.Errorf("%s: no header: %w", path, err)
	}
	head[0] = strings.TrimPrefix(head[0], "\ufeff")
	in := importedTable{path: path, head: head, split: split}
	if err := in.find(column); err != nil {
		return withCode(exitUsage, err)
	}
	var records []labels.Record
	tagged := 0
	for j.limit == 0 || len(records) < j.limit {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		line, _ := rows.FieldPos(0)
		r, err := in.record(row, line)
		if err != nil {
			return err
		}
		if r.Outcome == labels.OK {
			tagged++
		}
		records = append(records, r)
	}
	header := labels.TagsHeader{Tool: version, Source: "import of " + path}
	if err := atomicfile.Write(out, func(w io.Writer) error { return labels.WriteTags(w, header, records) }); err != nil {
		return err
	}
	j.print("%s written: %d of %d landmarks have a tag\n", out, tagged, len(records))
	return nil
}

// importedTable knows where the columns of a table are; −1 for one that it has
// not.
type importedTable struct {
	path                           string
	head                           []string
	split                          labels.Split
	id, category, tag, item, where int
}

func (t *importedTable) find(tag string) error {
	t.id, t.category, t.tag = slices.Index(t.head, "landmark_id"), slices.Index(t.head, "category"), slices.Index(t.head, tag)
	t.item, t.where = slices.Index(t.head, "wikidata_id"), slices.Index(t.head, "split")
	for name, at := range map[string]int{"landmark_id": t.id, tag: t.tag} {
		if at < 0 {
			return fmt.Errorf("%s:1: no column %q among %s", t.path, name, strings.Join(t.head, ", "))
		}
	}
	if t.where < 0 && t.split == "" {
		return fmt.Errorf("%s: nothing says the split of the landmarks, and train and index number theirs apart: add --split train", t.path)
	}
	return nil
}

func (t *importedTable) record(row []string, line int) (labels.Record, error) {
	id, err := strconv.ParseInt(row[t.id], 10, 32)
	if err != nil {
		return labels.Record{}, fmt.Errorf("%s:%d: landmark_id is %q, want a whole number", t.path, line, row[t.id])
	}
	r := labels.Record{Landmark: labels.LandmarkID(id), Split: t.split, Outcome: labels.NoTag, Source: "import"}
	if t.where >= 0 {
		r.Split = labels.Split(row[t.where])
	}
	if t.category >= 0 {
		r.Category = row[t.category]
		if title, err := scrape.Title(r.Category); err == nil {
			r.Title = title
		}
	}
	if t.item >= 0 {
		r.Item = row[t.item]
	}
	if raw := row[t.tag]; raw != "" {
		r.Outcome, r.Raw, r.Tag = labels.OK, raw, page.Normal(raw)
		r.Values = []labels.TagValue{{Raw: r.Raw, Text: r.Tag}}
	}
	return r, nil
}
