package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"hgld/internal/atomicfile"
	"hgld/internal/texttable"
	"hgld/labels"
	"hgld/train/device"
	"hgld/train/landmarks"
	"hgld/train/metric"
	"hgld/train/qrels"
	"hgld/train/retrieval"
)

// revisitedRow holds the means of a protocol in percent, over the queries that have a
// positive in it.
type revisitedRow struct {
	Protocol string           `json:"protocol"`
	MAP      retrieval.Number `json:"mAP"`
	MP1      retrieval.Number `json:"mP@1"`
	MP5      retrieval.Number `json:"mP@5"`
	MP10     retrieval.Number `json:"mP@10"`
	Skipped  int              `json:"skipped"`

	queries []metric.RevisitedValues // of the queries that count
}

// runRevisited prints the published table of Revisited Oxford or Paris, of vectors from files.
func (j *job) runRevisited(s *evalSettings) error {
	if _, err := (&evalRun{evalSettings: s}).options(); err != nil {
		return err
	}
	f := &s.Files
	if f.Embeddings == "" || f.GalleryEmbeddings == "" {
		return usagef("the ground truth %s needs --embeddings and --gallery-embeddings", f.Qrels)
	}
	b, err := j.openDevice()
	if err != nil {
		return err
	}
	var e retrieval.Evaluation
	for _, side := range []struct {
		file string
		to   *retrieval.Side
	}{{f.Embeddings, &e.Query}, {f.GalleryEmbeddings, &e.Gallery}} {
		v, err := openVectors(side.file)
		if err != nil {
			return err
		}
		if err := verifyVectors(j.ctx)(side.file); err != nil {
			return errors.Join(err, v.Close())
		}
		defer v.Close() // ranking reads the gallery
		if *side.to, err = revisitedSide(b, v, f.Normalize); err != nil {
			return fmt.Errorf("%s: %w", side.file, err)
		}
	}
	data, err := qrels.ReadRevisited(f.Qrels)
	if err != nil {
		return withCode(exitUsage, err)
	}
	truth, err := metric.ParseTruths(data, len(e.Query.Labels), len(e.Gallery.Labels))
	if err != nil {
		return withCode(exitUsage, fmt.Errorf("%s: %w", f.Qrels, err))
	}
	rows, err := j.rankRevisited(b, &e, truth)
	if err != nil {
		return err
	}
	return j.printRevisited(rows)
}

// revisitedSide returns vectors as a side.
func revisitedSide(b device.Backend, v retrieval.Vectors, unit bool) (retrieval.Side, error) {
	rows, _ := v.Rows()
	s, err := retrieval.SideOf(b, v, unit)
	s.Labels = make([]labels.Path, rows)
	return s, err
}

// rankRevisited ranks the gallery of e for its queries.
func (j *job) rankRevisited(b device.Backend, e *retrieval.Evaluation, truth []metric.Truth) (
	rows []revisitedRow, err error) {
	j.log("ranking %d gallery items for %d queries", len(e.Gallery.Labels), len(truth))
	e.Threads = j.threads
	thread := device.NewThread(b)
	means, err := landmarks.Rank(j.ctx, b, thread, *e, truth)
	if err := errors.Join(err, thread.Close()); err != nil {
		return nil, err
	}
	for _, m := range means {
		percent := func(v float64) retrieval.Number { return retrieval.Number(100 * v) }
		rows = append(rows, revisitedRow{m.Protocol.String(), percent(m.AP), percent(m.Precision[0]),
			percent(m.Precision[1]), percent(m.Precision[2]), m.Skipped, m.Queries})
	}
	return rows, nil
}

// writeRevisited writes a table of the values of every query in percent, by protocol and then by AP, the worst first.
func writeRevisited(path string, rows []revisitedRow, names []string) error {
	t := texttable.Table{Head: []string{"protocol", "query", "AP", "P@1", "P@5", "P@10"}}
	for _, r := range rows {
		worst := slices.SortedStableFunc(slices.Values(r.queries), func(a, b metric.RevisitedValues) int {
			return cmp.Compare(a.AP, b.AP)
		})
		for _, v := range worst {
			line := []string{r.Protocol, names[v.Query]}
			for _, x := range append([]float64{v.AP}, v.Precision[:]...) {
				line = append(line, retrieval.Number(100*x).Decimals(2, ""))
			}
			t.Rows = append(t.Rows, line)
		}
	}
	return atomicfile.Write(path, func(w io.Writer) error { return t.Write(w, "csv") })
}

// printRevisited prints the table of the protocols.
func (j *job) printRevisited(rows []revisitedRow) error {
	if j.json {
		return writeJSON(j, rows)
	}
	lines := [][]string{{"%", "mAP", "mP@1", "mP@5", "mP@10", "skipped"}}
	for _, r := range rows {
		line := []string{r.Protocol}
		for _, v := range []retrieval.Number{r.MAP, r.MP1, r.MP5, r.MP10} {
			line = append(line, v.Decimals(2, "–"))
		}
		lines = append(lines, append(line, strconv.Itoa(r.Skipped)))
	}
	j.print("%s", texttable.Format("%-8s %8s %8s %8s %8s %8s", lines...))
	return nil
}
