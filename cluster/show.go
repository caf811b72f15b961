package cluster

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hgld/internal/registry"
	"hgld/internal/terminal"
	"hgld/internal/texttable"
	"hgld/labels"
)

// Find returns the position of a cluster of a draft by its name or, if no cluster has the
// name, by its id. The error is a *registry.UnknownError.
func Find(d *labels.Draft, which string) (int, error) {
	at := slices.IndexFunc(d.Clusters, func(c labels.Cluster) bool { return c.Name == which })
	if at < 0 {
		at = slices.IndexFunc(d.Clusters, func(c labels.Cluster) bool { return strconv.Itoa(c.ID) == which })
	}
	if at >= 0 {
		return at, nil
	}
	var known []string
	for _, c := range d.Clusters {
		known = append(known, c.Name)
	}
	return at, &registry.UnknownError{Kind: "cluster", Name: which, Nearest: registry.Nearest(which, known)}
}

// carriers returns the landmarks and images of a cluster's members. Drafts of an earlier
// format do not have these sums.
func carriers(d *labels.Draft, c labels.Cluster) (landmarks, images int) {
	for _, m := range c.Members {
		landmarks += d.Tags[m.Tag].Landmarks
		images += d.Tags[m.Tag].Images
	}
	return landmarks, images
}

// TableText lists the clusters of a draft in its order, one a line, with their tags,
// landmarks and, where they were counted, images.
func TableText(d *labels.Draft) string {
	rows := [][]string{{"id", "tags", "landmarks", "images", "name"}}
	for _, c := range d.Clusters {
		landmarks, n := carriers(d, c)
		images := ""
		if n > 0 {
			images = strconv.Itoa(n)
		}
		rows = append(rows, texttable.Row(c.ID, len(c.Members), landmarks, images, c.Name))
	}
	return texttable.Format("%5s  %5s  %9s  %9s  %s", rows...)
}

// MembersText describes the cluster at a position of a draft: its sums, other names,
// nearest clusters, and its members in the draft's order, nearest first.
func MembersText(d *labels.Draft, at int) string {
	w, c := &strings.Builder{}, d.Clusters[at]
	landmarks, images := carriers(d, c)
	fmt.Fprintf(w, "%s (id %d): %s, %s", c.Name, c.ID, terminal.Count(len(c.Members), "tag"),
		terminal.Count(landmarks, "landmark"))
	if images > 0 {
		fmt.Fprintf(w, ", %s", terminal.Count(images, "image"))
	}
	if c.Known {
		fmt.Fprintf(w, "; a group of %s", cmp.Or(d.Origin.Given, d.Origin.Groups))
	}
	fmt.Fprintf(w, "\n")
	names := map[int]string{}
	for _, c := range d.Clusters {
		names[c.ID] = c.Name
	}
	writeNames(w, "or named", c.Alternatives, func(i int) string { return d.Tags[i].Name })
	writeNames(w, "nearest", c.Nearest, func(id int) string { return names[id] })
	rows := [][]string{{"distance", "landmarks", "tag"}}
	for _, m := range c.Members {
		mark := ""
		if m.Outlier {
			mark = "  (outlier)"
		}
		tag := d.Tags[m.Tag]
		rows = append(rows, texttable.Row(fmt.Sprintf("%.4f", m.Distance), tag.Landmarks, tag.Name+mark))
	}
	return w.String() + "\n" + texttable.Format("%8s  %9s  %s", rows...)
}

// writeNames writes a line of names, if there are any.
func writeNames(w *strings.Builder, label string, ids []int, name func(int) string) {
	var names []string
	for _, id := range ids {
		names = append(names, name(id))
	}
	if len(names) > 0 {
		fmt.Fprintf(w, "%s: %s\n", label, strings.Join(names, ", "))
	}
}
