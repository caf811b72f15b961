package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"hgld/internal/atomicfile"
	"hgld/labels"
	"hgld/shards"
)

// shardsFolder is the folder that an inspecting command works on: its argument,
// or the project's.
func shardsFolder(j *job) (string, error) {
	if len(j.args) == 1 {
		return j.args[0], nil
	}
	if len(j.args) > 1 {
		return "", usagef("one folder of shards is wanted, got %d", len(j.args))
	}
	s, err := shardsStage().Load(j.project, nil)
	return s.Out, err
}

func shardsLsCommand() *cli.Command {
	return &cli.Command{
		Name: "ls", Usage: "files, rows, and the classes of each level with their images", ArgsUsage: "[FOLDER]",
		Description: "  hgld shards ls                 the project's shards\n  hgld shards ls --json other    MANIFEST.json without the hashes",
		Flags:       append(commonFlags(), &cli.IntFlag{Name: "limit", Usage: "print the first `N` classes of a level (0: all)", Value: 10}),
		Action: func(c *cli.Context) error {
			j, err := newJob(c)
			if err != nil {
				return err
			}
			dir, err := shardsFolder(j)
			if err != nil {
				return err
			}
			m, err := shards.ReadManifest(dir)
			if err != nil {
				return shardsError(err)
			}
			if j.json {
				return writeJSON(j, shardsSummary(m))
			}
			printManifest(j, m)
			return nil
		},
	}
}

// shardsList is what `hgld shards ls --json` prints.
type shardsList struct {
	Tool     string             `json:"tool"`
	Rows     int                `json:"rows"`
	Bytes    int64              `json:"bytes"`
	Failures int                `json:"failures"`
	Files    []shardsListFile   `json:"files"`
	Levels   []shardsListLevels `json:"levels"`
	Beside   []shardsListBeside `json:"companions,omitempty"`
}

type shardsListFile struct {
	Name  string       `json:"name"`
	Split labels.Split `json:"split"`
	Rows  int          `json:"rows"`
	Bytes int64        `json:"bytes"`
}

// shardsListBeside is a file that stands beside the shards.
type shardsListBeside struct {
	Name  string `json:"name"`
	Rows  int    `json:"rows,omitempty"`
	Bytes int64  `json:"bytes"`
}

type shardsListLevels struct {
	Name    string                 `json:"name"`
	Column  string                 `json:"column"`
	Classes []string               `json:"classes"`
	Rows    map[labels.Split][]int `json:"rows"`
}

func shardsSummary(m *shards.Manifest) shardsList {
	list := shardsList{Tool: m.Tool, Failures: m.Failures.Rows}
	for _, f := range m.Files {
		list.Rows += f.Rows
		list.Bytes += f.Bytes
		list.Files = append(list.Files, shardsListFile{f.Name, f.Split, f.Rows, f.Bytes})
	}
	for _, l := range m.Levels {
		list.Levels = append(list.Levels, shardsListLevels(l))
	}
	for _, c := range m.Companions {
		list.Beside = append(list.Beside, shardsListBeside{c.Name, c.Rows, c.Bytes})
	}
	return list
}

func printManifest(j *job, m *shards.Manifest) {
	j.print("%-40s %10s %10s\n", "file", "rows", "size")
	for _, f := range m.Files {
		j.print("%-40s %10d %10s\n", f.Name, f.Rows, sizeText(f.Bytes))
	}
	for _, c := range m.Companions {
		rows := ""
		if c.Rows > 0 {
			rows = strconv.Itoa(c.Rows)
		}
		j.print("%-40s %10s %10s\n", c.Name, rows, sizeText(c.Bytes))
	}
	splits := m.Splits()
	for _, l := range m.Levels {
		j.print("\n%-40s %s\n", fmt.Sprintf("%s (%s): %d classes", l.Name, l.Column, len(l.Classes)), columnsOf(splits))
		for c, name := range l.Classes {
			if j.limit > 0 && c == j.limit {
				j.print("… %d more; --limit 0 prints all\n", len(l.Classes)-c)
				break
			}
			j.print("%-40s", name)
			for _, split := range splits {
				j.print(" %10d", l.Rows[split][c])
			}
			j.print("\n")
		}
	}
	if m.Failures.Rows > 0 {
		j.print("\n%s left out: see %s\n", count(m.Failures.Rows, "image"), shards.FailuresFile)
	}
}

func columnsOf(splits []labels.Split) string {
	var s strings.Builder
	for i, split := range splits {
		if i > 0 {
			s.WriteByte(' ')
		}
		fmt.Fprintf(&s, "%10s", split)
	}
	return s.String()
}

func shardsCatCommand() *cli.Command {
	return &cli.Command{
		Name: "cat", Usage: "rows as JSON lines, without the images; or one image into a file", ArgsUsage: "[FOLDER]",
		Description: "  hgld shards cat --split train                           all rows of a split\n" +
			"  hgld shards cat --split test --row 17 --count 3         three rows\n" +
			"  hgld shards cat --split test --image 17 --out 17.jpg    one image",
		Flags: append(commonFlags(),
			&cli.StringFlag{Name: "split", Usage: "`SPLIT` to read; default: the only one"},
			&cli.IntFlag{Name: "row", Usage: "first row"},
			&cli.IntFlag{Name: "count", Usage: "number of rows (default: from --row 1, else all)"},
			&cli.IntFlag{Name: "image", Usage: "write the image of row `I` to --out"},
			&cli.StringFlag{Name: "out", Usage: "`FILE` for --image"},
		),
		Action: func(c *cli.Context) error {
			j, err := newJob(c)
			if err != nil {
				return err
			}
			return shardsError(runShardsCat(c, j))
		},
	}
}

func runShardsCat(c *cli.Context, j *job) (err error) {
	dir, err := shardsFolder(j)
	if err != nil {
		return err
	}
	set, err := shards.Open(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, set.Close()) }()
	split := labels.Split(c.String("split"))
	if splits := set.Manifest().Splits(); split == "" && len(splits) == 1 {
		split = splits[0]
	} else if split == "" {
		return usagef("name the split: --split, one of %v", splits)
	}
	view, err := set.Split(split)
	if err != nil {
		return withCode(exitUsage, err)
	}
	if c.IsSet("image") {
		return writeImage(j, view, c.Int("image"), c.String("out"))
	}
	from, n := c.Int("row"), view.Len()
	if c.IsSet("row") {
		n = 1
	}
	if c.IsSet("count") {
		n = c.Int("count")
	}
	if from < 0 || n < 0 || from > view.Len() || c.IsSet("row") && from == view.Len() {
		return usagef("row %d of split %s, which has rows 0 to %d", from, split, view.Len()-1)
	}
	var rows []int
	for i := from; i < min(from+n, view.Len()); i++ {
		rows = append(rows, i)
	}
	if len(rows) == 0 {
		return nil
	}
	return printRows(j, view.Filter(rows), set.Manifest().Landmarks)
}

func writeImage(j *job, view *shards.View, row int, out string) error {
	if out == "" {
		return usagef("name the file for the image: --out")
	}
	if row < 0 || row >= view.Len() {
		return usagef("row %d of a split with rows 0 to %d", row, view.Len()-1)
	}
	data, err := view.Image(j.ctx, row)
	if err != nil {
		return err
	}
	if err := atomicfile.WriteFile(out, data); err != nil {
		return err
	}
	j.say("image %s, %s, written to %s", view.ID(row), sizeText(int64(len(data))), out)
	return nil
}

// catRow is a line of `hgld shards cat`: the columns of the shard, without NULLs,
// with class names instead of numbers.
type catRow struct {
	ID          shards.ImageID     `json:"image_id"`
	Path        string             `json:"path"`
	Split       labels.Split       `json:"split"`
	Landmark    *labels.LandmarkID `json:"landmark_id,omitempty"`
	Labels      labels.Path        `json:"labels"`
	Names       map[string]string  `json:"names"` // by level
	Width       int                `json:"width"`
	Height      int                `json:"height"`
	SHA256      string             `json:"sha256"`
	CategoryURL string             `json:"category_url,omitempty"`
	WikidataQID string             `json:"wikidata_qid,omitempty"`
	Tag         string             `json:"supercategory,omitempty"`
	LabelSource string             `json:"label_source,omitempty"`
	Author      string             `json:"author,omitempty"`
	License     string             `json:"license,omitempty"`
	Title       string             `json:"title,omitempty"`
	SourceURL   string             `json:"source_url,omitempty"`
	Modified    string             `json:"modified,omitempty"`
}

func printRows(j *job, view *shards.View, landmarks bool) error {
	levels := view.Levels()
	enc := json.NewEncoder(j.stdout)
	enc.SetEscapeHTML(false)
	for row, err := range view.Rows(j.ctx, false) {
		if err != nil {
			return err
		}
		a := row.Attributes
		out := catRow{ID: row.ID, Path: row.Path, Split: row.Split, Labels: row.Labels, Names: map[string]string{},
			Width: row.W, Height: row.H, SHA256: shards.Hash(row.SHA256).String(),
			CategoryURL: a.CategoryURL, WikidataQID: a.WikidataQID, Tag: a.Tag, LabelSource: a.LabelSource,
			Author: a.Author, License: a.License, Title: a.Title, SourceURL: a.SourceURL, Modified: a.Modifications}
		if landmarks && row.Labels[0] >= 0 {
			out.Landmark = &row.Landmark
		}
		for l, class := range row.Labels {
			if class >= 0 {
				out.Names[levels[l]] = view.Classes(l)[class]
			}
		}
		if err := enc.Encode(out); err != nil {
			return err
		}
	}
	return nil
}

func shardsVerifyCommand() *cli.Command {
	return &cli.Command{
		Name: "verify", ArgsUsage: "[FOLDER]",
		Usage: "compare every file and image with its hash; exit code 4 where one differs or cannot be read",
		Description: "  hgld shards verify                     everything\n" +
			"  hgld shards verify --subset 2/7        every seventh shard, another one each day of the week\n" +
			"  hgld shards verify --repair            make anew what follows from the shards: .idx, STATS.json …",
		Flags: append(commonFlags(),
			&cli.StringFlag{Name: "subset", Usage: "part `N/T`: every T-th shard, beginning with the N-th"},
			&cli.BoolFlag{Name: "repair", Usage: "make anew, from the shards, what is missing or damaged beside them"},
		),
		Action: func(c *cli.Context) error {
			j, err := newJob(c)
			if err != nil {
				return err
			}
			return runShardsVerify(c, j)
		},
	}
}

func runShardsVerify(c *cli.Context, j *job) error {
	dir, err := shardsFolder(j)
	if err != nil {
		return err
	}
	var o shards.VerifyOptions
	if text := c.String("subset"); text != "" {
		n, t, _ := strings.Cut(text, "/")
		part, err1 := strconv.Atoi(n)
		of, err2 := strconv.Atoi(t)
		if err1 != nil || err2 != nil || part < 1 || part > of {
			return usagef("subset %.80q; want N/T, such as 1/7", text)
		}
		o.Subset, o.Of = part, of
	}
	v, err := verifyShards(j, dir, o)
	if err == nil && c.Bool("repair") && len(v.Damage) > 0 {
		if err := repairShards(j, dir, v.Damage); err != nil {
			return err
		}
		v, err = verifyShards(j, dir, o)
	}
	if err != nil {
		return err
	}
	if j.json {
		if err := writeJSON(j, v); err != nil {
			return err
		}
	} else {
		for _, d := range v.Damage {
			j.print("%v\n", d)
		}
		for _, note := range v.Notes {
			j.say("note: %s", note)
		}
		j.print("%s, %s, %s: %s\n", count(v.Files, "file"), count(v.Rows, "row"), sizeText(v.Bytes), damageText(len(v.Damage)))
	}
	if len(v.Damage) == 0 {
		return nil
	}
	return withHint(withCode(exitIntegrity, fmt.Errorf("shards verify: %s is damaged", dir)),
		"`hgld shards build` with the same inputs makes the damaged shards anew and keeps the others")
}

func verifyShards(j *job, dir string, o shards.VerifyOptions) (*shards.Verified, error) {
	j.say("verifying %s", dir)
	var bar *progress
	o.Progress = func(done, total int, shard string) {
		if bar == nil {
			bar = j.progress("shards", total)
		}
		bar.set(done, shard)
	}
	v, err := shards.Verify(j.ctx, dir, o)
	if bar != nil {
		bar.end()
	}
	if errors.Is(err, os.ErrNotExist) {
		return nil, withHint(err, "`hgld shards build` makes a data set")
	}
	return v, err
}

func repairShards(j *job, dir string, damage []*shards.DamageError) error {
	var files []string
	for _, d := range damage {
		files = append(files, d.File)
	}
	fixed, err := shards.Repair(j.ctx, dir, writeTaxonomy, files...)
	for _, name := range fixed {
		j.print("%s made anew\n", name)
	}
	return shardsError(err)
}

func damageText(n int) string {
	if n == 0 {
		return "no damage"
	}
	return fmt.Sprintf("%d damaged", n)
}
