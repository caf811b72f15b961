package shards

import (
	"fmt"
	"strings"

	"hgld/internal/predicted"
	"hgld/internal/terminal"
	"hgld/internal/texttable"
	"hgld/labels"
)

// BuiltText says how many images, shards and bytes each split has, and how many classes
// each level.
func (m *Manifest) BuiltText() string {
	w := &strings.Builder{}
	for _, split := range m.Splits() {
		files, bytes := m.Size(split)
		fmt.Fprintf(w, "%s: %s in %s, %s\n", split, terminal.Count(m.Rows(split), "image"),
			terminal.Count(files, "shard"), FormatSize(bytes))
	}
	for _, l := range m.Levels {
		fmt.Fprintf(w, "%s: %s", l.Name, terminal.Count(len(l.Classes), "class"))
		lacking := 0
		for _, split := range m.Splits() {
			lacking += l.lacking(m, split)
		}
		if lacking > 0 {
			fmt.Fprintf(w, ", %s without one", terminal.Count(lacking, "image"))
		}
		w.WriteString("\n")
	}
	return w.String()
}

// lacking counts the images of a split that have no class of the level.
func (l *Level) lacking(m *Manifest, split labels.Split) int {
	if l.Rows[split] == nil { // not counted
		return 0
	}
	n := m.Rows(split)
	for _, images := range l.Rows[split] {
		n -= images
	}
	return n
}

// PlanText lists the shards of a plan with their images, sizes and whether they exist,
// and sums them up.
func PlanText(list []Planned) string {
	images, missing, rows := 0, 0, [][]string{{"shard", "images", "size"}}
	bytes := int64(0)
	for _, p := range list {
		state := "there"
		if !p.There {
			state = "missing"
			missing++
		}
		images += p.Images
		bytes += p.Bytes
		rows = append(rows, texttable.Row(p.Name, p.Images, FormatSize(p.Bytes), state))
	}
	return texttable.Format("%-40s %8s %10s  %s", rows...) + fmt.Sprintf("%s in %s, %s, %d missing\n",
		terminal.Count(images, "image"), terminal.Count(len(list), "shard"), FormatSize(bytes), missing)
}

// Bytes of JPEGs for which a core takes a second (scripts/results/scale.md), besides predicted.DecodedRate: if only
// their headers are checked, and if they are also made smaller.
const (
	hashedRate  = 80e6
	reducedRate = 6e6
)

// storeRequests is the number of requests that a slice sends for each shard.
const storeRequests = 4

// CostText states what the missing shards cost: the bytes to read, and a prediction of the processor hours and, in an
// object store, of the requests.
func (p *Preview) CostText() string {
	missing, bytes := 0, int64(0)
	for _, s := range p.Shards {
		if !s.There {
			missing, bytes = missing+1, bytes+s.Bytes
		}
	}
	var rate float64 = predicted.DecodedRate
	switch o := p.b.o; {
	case o.ShortSide > 0:
		rate = reducedRate
	case o.HeadersOnly:
		rate = hashedRate
	}
	requests := 0
	if _, is := p.b.dir.(*remote); is {
		requests = missing * storeRequests
	}
	work := terminal.Count(missing, "shard") + " to build"
	return predicted.Text(work, FormatSize(bytes), float64(bytes)/rate/3600, requests)
}

// Text lists the damage, and says how much was compared. Notes are left out.
func (v *Verified) Text() string {
	w := &strings.Builder{}
	for _, d := range v.Damage {
		fmt.Fprintf(w, "%v\n", d)
	}
	verdict := "no damage"
	if n := len(v.Damage); n > 0 {
		verdict = fmt.Sprintf("%d damaged", n)
	}
	fmt.Fprintf(w, "%s, %s, %s: %s\n", terminal.Count(v.Files, "file"), terminal.Count(v.Rows, "row"),
		FormatSize(v.Bytes), verdict)
	return w.String()
}
