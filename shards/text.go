package shards

import (
	"fmt"
	"strconv"
	"strings"

	"hgld/internal/terminal"
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
	w := &strings.Builder{}
	images, missing := 0, 0
	fmt.Fprintf(w, "%-40s %8s %10s\n", "shard", "images", "size")
	for _, p := range list {
		state := "there"
		if !p.There {
			state = "missing"
			missing++
		}
		images += p.Images
		fmt.Fprintf(w, "%-40s %8d %10s  %s\n", p.Name, p.Images, FormatSize(p.Bytes), state)
	}
	fmt.Fprintf(w, "%s in %s, %d missing\n", terminal.Count(images, "image"), terminal.Count(len(list), "shard"), missing)
	return w.String()
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

// ParseSubset reads the part of a data set to verify, N/T: Subset and Of of
// [VerifyOptions].
func ParseSubset(text string) (subset, of int, err error) {
	n, t, _ := strings.Cut(text, "/")
	subset, err1 := strconv.Atoi(n)
	of, err2 := strconv.Atoi(t)
	if err1 != nil || err2 != nil || subset < 1 || subset > of {
		return 0, 0, fmt.Errorf("subset %.80q; want N/T, such as 1/7", text)
	}
	return subset, of, nil
}
