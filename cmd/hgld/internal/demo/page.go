package demo

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"

	"hgld/internal/atomicfile"
	"hgld/internal/report"
	"hgld/labels"
	"hgld/train/experiment/runs"
)

const (
	cases  = 6  // queries shown on the page
	places = 12 // places shown per ranking
)

func (d *demo) report() error {
	r := report.Page{Title: "hgld demo", Steps: d.done,
		Subtitle: "From noisy tags to a model that retrieves by hierarchy: every step ran on this machine's CPU, " +
			"on made-up landmarks."}
	d.reportTable(&r)
	for _, fill := range []func(*report.Page) error{d.reportCases, d.reportCurves, d.reportTree} {
		if err := fill(&r); err != nil {
			return err
		}
	}
	return atomicfile.Write(d.path("report.html"), r.Write)
}

func (d *demo) reportTable(r *report.Page) {
	t := &report.Table{Title: "Retrieval of unseen landmarks", Head: []string{"model"},
		Note: fmt.Sprintf("%d queries, percent. Smooth-AP is trained on landmarks alone; HAPPIER on landmark, "+
			"supercategory and kind. mAP@R super counts a landmark of the same supercategory as right.", d.queries)}
	for _, c := range columns {
		t.Head = append(t.Head, c.head)
	}
	for i, name := range d.table.names {
		row := []report.Cell{{Text: name}}
		for c, v := range d.table.values[i] {
			row = append(row, report.Cell{Text: fmt.Sprintf("%.1f", v), Best: d.table.best(i, c)})
		}
		t.Rows = append(t.Rows, row)
	}
	r.Table = t
}

// reportCases adds the pictures that both models retrieve for the same queries.
func (d *demo) reportCases(r *report.Page) error {
	r.CasesNote = "The query, then the first places of each model's ranking of all other pictures."
	r.Legend = []report.Legend{{Level: 3, Text: "same landmark"}, {Level: 2, Text: "same supercategory"},
		{Level: 1, Text: "same kind"}, {Level: 0, Text: "nothing in common"}}
	data, rankings, err := d.o.Embed(d.ctx, d.dir, runFolders())
	if err != nil {
		return err
	}
	defer data.Close()
	queries := distinctQueries(data)
	r.Cases = make([]report.Case, len(queries))
	for m, vectors := range rankings {
		for i, q := range queries {
			row, err := d.ranking(models[m], data, vectors, q)
			if err != nil {
				return err
			}
			r.Cases[i].Rows = append(r.Cases[i].Rows, row)
		}
	}
	return nil
}

// runFolders returns the run directories of the models.
func runFolders() (list []string) {
	for _, name := range models {
		list = append(list, filepath.Join("runs", name))
	}
	return list
}

// distinctQueries picks the first picture of several supercategories.
func distinctQueries(d Pictures) []int {
	var chosen []int
	seen := map[int32]bool{}
	for i := 0; i < d.Len() && len(chosen) < cases; i++ {
		if super := d.Labels(i)[1]; !seen[super] {
			seen[super] = true
			chosen = append(chosen, i)
		}
	}
	return chosen
}

// ranking returns the row of pictures that a model retrieves for query q.
func (d *demo) ranking(name string, data Pictures, vectors [][]float32, q int) (report.Row, error) {
	order := make([]int, 0, len(vectors))
	scores := make([]float32, len(vectors))
	for i, v := range vectors {
		for k := range v {
			scores[i] += v[k] * vectors[q][k]
		}
		if i != q {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	row := report.Row{Name: name}
	for place, i := range append([]int{q}, order[:min(places, len(order))]...) {
		picture, err := d.picture(data, q, i)
		if err != nil {
			return row, err
		}
		if place == 0 {
			picture.Class, picture.Alt = "query", "the query"
		}
		row.Pictures = append(row.Pictures, picture)
	}
	return row, nil
}

func (d *demo) picture(data Pictures, q, i int) (report.Picture, error) {
	image, err := data.Image(d.ctx, i)
	if err != nil {
		return report.Picture{}, err
	}
	path := data.Labels(i)
	shared := path.Shared(data.Labels(q))
	super := data.Classes(1)[path[1]]
	return report.Picture{
		Class: fmt.Sprintf("l%d", shared), Caption: super, Source: report.JPEG(image),
		Alt: fmt.Sprintf("%s, %d of 3 levels shared with the query", super, shared),
	}, nil
}

// reportCurves plots the losses that the runs recorded.
func (d *demo) reportCurves(r *report.Page) error {
	p := report.Plot{XLabel: "step", YLabel: "loss"}
	for _, name := range models {
		run, err := runs.Read(d.path("runs/" + name))
		if err != nil {
			return err
		}
		points, _, err := run.Curve("loss", 0)
		if err != nil {
			return err
		}
		p.Curves = append(p.Curves, report.Curve{Name: name, Points: points})
	}
	drawing, err := p.Draw()
	if err != nil {
		return err
	}
	picture, err := drawing.Inline("loss by step")
	r.Figures = []report.Figure{{Title: "Training", Picture: picture,
		Note: "The loss by step, as a running mean. The two losses measure different things: their heights are not " +
			"to be compared."}}
	return err
}

// reportTree adds the curated hierarchy.
func (d *demo) reportTree(r *report.Page) error {
	h, err := labels.OpenHierarchy(d.path("hierarchy.json"))
	if err != nil {
		return err
	}
	draft, err := labels.OpenDraft(d.path("draft.json"))
	if err != nil {
		return err
	}
	landmarks := map[string]int{}
	for _, t := range draft.Tags {
		landmarks[t.Name] = t.Landmarks
	}
	type branch struct {
		report.Group
		parent string
		count  int // of landmarks
	}
	groups := make([]branch, len(h.Levels[1].Classes))
	for i, c := range h.Levels[1].Classes {
		groups[i] = branch{Group: report.Group{Name: c.Name}, parent: h.Levels[2].Classes[c.Parent].Name}
	}
	left := 0
	for _, c := range h.Levels[0].Classes {
		if c.Parent < 0 {
			left++
			continue
		}
		n := landmarks[c.Name]
		g := &groups[c.Parent]
		g.Members, g.count = append(g.Members, report.Member{Name: c.Name, Count: n}), g.count+n
	}
	slices.SortStableFunc(groups, func(a, b branch) int {
		return cmp.Or(cmp.Compare(a.parent, b.parent), cmp.Compare(b.count, a.count))
	})
	for _, g := range groups {
		slices.SortStableFunc(g.Members, func(a, b report.Member) int { return cmp.Compare(b.Count, a.Count) })
		g.Note = fmt.Sprintf("%s · %d landmarks", g.parent, g.count)
		r.Groups = append(r.Groups, g.Group)
	}
	r.GroupsTitle = "The hierarchy"
	r.GroupsNote = fmt.Sprintf("%d supercategories of %d tags; %d tags were dropped because they name no kind of "+
		"landmark.",
		len(groups), len(h.Levels[0].Classes)-left, left)
	return nil
}
