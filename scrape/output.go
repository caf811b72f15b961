package scrape

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"hgld/internal/atomicfile"
	"hgld/labels"
)

// Output describes the files written after a crawl. It may change between runs.
type Output struct {
	Tags      string // path of tags.jsonl
	Items     string // path of items.jsonl, which needs a Linker; "": none
	Policy    string // a name from Policies
	Changes   string // path for the list of changed tags; "": none
	PaperText bool   // tags include the qualifiers, as the page prints them
	Tool      string // name and version of the program, for the header
}

// Check finds mistakes before a crawl begins: an unknown policy, or a path that cannot be
// written when the crawl is done.
func (o Output) Check() error {
	if _, err := Policies.Get("policy", o.Policy); err != nil {
		return err
	}
	if o.Tags == "" {
		return errors.New("the tags have no file name; want one such as tags.jsonl")
	}
	if err := checkFile(o.Tags, "tags"); err != nil || o.Items == "" {
		return err
	}
	return checkFile(o.Items, "items")
}

// checkFile returns an error if a file cannot be written because it is a folder or has none.
func checkFile(path, what string) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return fmt.Errorf("%s is a folder; want the name of a file for the %s", path, what)
	}
	info, err := os.Stat(filepath.Dir(path))
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err != nil || !info.IsDir() {
		return fmt.Errorf("%s: the folder %s does not exist; create it, or name another file", path,
			filepath.Dir(path))
	}
	return nil
}

// write creates items.jsonl, tags.jsonl and report.json from the state, in the order of the input.
func (o Output) write(cfg Config, s *state, f *frontier) (*Report, error) {
	policy, err := Policies.Get("policy", o.Policy)
	if err != nil {
		return nil, err
	}
	landmarks := cfg.landmarks()
	header, err := o.header(cfg)
	if err != nil {
		return nil, err
	}
	report := newReport(cfg, f)
	if o.Items != "" {
		if err := o.writeItems(cfg, s, f.titles, report); err != nil {
			return nil, err
		}
	}
	err = atomicfile.Write(o.Tags, func(w io.Writer) error {
		b := bufio.NewWriterSize(w, 1<<20)
		tags, err := labels.NewTagsWriter(b, header)
		if err != nil {
			return err
		}
		for i, l := range landmarks {
			rec, err := o.record(s, f, i, l)
			if err != nil {
				return err
			}
			report.countPolicies(rec)
			choose(&rec, policy, o.PaperText)
			report.count(rec)
			if err := tags.Write(rec); err != nil {
				return err
			}
		}
		return b.Flush()
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.Tags, err)
	}
	text, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		return nil, err
	}
	return report, atomicfile.WriteFile(filepath.Join(s.dir, "report.json"), append(text, '\n'))
}

// record returns what is known about landmark i, before a tag is chosen.
func (o Output) record(s *state, f *frontier, i int, l Landmark) (labels.Record, error) {
	rec := labels.Record{Outcome: labels.Failed}
	if err := f.errs[i]; err != nil {
		rec.Error = message(err)
	} else {
		var err error
		if rec, err = s.record(f.of[i]); err != nil {
			return rec, err
		}
	}
	rec.Landmark, rec.Split, rec.Category = l.ID, l.Split, l.Category
	return rec, nil
}

// header returns the header of tags.jsonl. It contains no times.
func (o Output) header(cfg Config) (labels.TagsHeader, error) {
	h := labels.TagsHeader{Tool: o.Tool, Source: cfg.Source.Name(), Extra: map[string]json.RawMessage{}}
	for key, value := range map[string]any{
		"input": filepath.Base(cfg.Input.Name), "input_sha256": cfg.Input.SHA256, "policy": o.Policy,
		"paper_text": o.PaperText,
	} {
		text, err := json.Marshal(value)
		if err != nil {
			return h, err
		}
		h.Extra[key] = text
	}
	return h, nil
}
