package main

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/urfave/cli/v2"

	"hgld/internal/registry"
	"hgld/labels"
)

func clusterShowCommand() *cli.Command {
	return &cli.Command{
		Name: "show", Usage: "print the clusters of a draft, or one with its members", ArgsUsage: "[CLUSTER]",
		Description: "  hgld cluster show                          all clusters, the largest first\n" +
			"  hgld cluster show church                   the cluster named church, members nearest first\n" +
			"  hgld cluster show 12                       the cluster with the id 12\n" +
			"  hgld cluster show --draft other.json --json",
		Flags: append(commonFlags(), &cli.StringFlag{Name: "draft", Usage: "draft to read (default: the project's)"}),
		Action: taking(0, 1, "the name or id of one cluster", func(c *cli.Context, j *job) error {
			s, err := clusterStage().Load(j.project, nil)
			if err != nil {
				return err
			}
			if path := c.String("draft"); path != "" {
				s.Out = path
			}
			d, err := labels.OpenDraft(s.Out)
			if err != nil {
				return withHint(err, "`hgld cluster run` makes a draft")
			}
			if len(j.args) == 0 {
				return showClusters(j, d)
			}
			return showCluster(j, d, j.args[0])
		}),
	}
}

func showClusters(j *job, d *labels.Draft) error {
	if j.json {
		return writeJSON(j, d.Clusters)
	}
	j.print("%5s  %5s  %9s  %9s  %s\n", "id", "tags", "landmarks", "images", "name")
	for _, c := range d.Clusters {
		landmarks, images := use(d, c)
		j.print("%5d  %5d  %9d  %9s  %s\n", c.ID, len(c.Members), landmarks, ifAny(images), c.Name)
	}
	return nil
}

// use returns the landmarks and images of a cluster's members. Drafts of an earlier
// format do not have these sums.
func use(d *labels.Draft, c labels.Cluster) (landmarks, images int) {
	for _, m := range c.Members {
		landmarks += d.Tags[m.Tag].Landmarks
		images += d.Tags[m.Tag].Images
	}
	return landmarks, images
}

// ifAny returns a count as text, blank for 0.
func ifAny(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func showCluster(j *job, d *labels.Draft, which string) error {
	at := slices.IndexFunc(d.Clusters, func(c labels.Cluster) bool { return c.Name == which })
	if at < 0 {
		at = slices.IndexFunc(d.Clusters, func(c labels.Cluster) bool { return strconv.Itoa(c.ID) == which })
	}
	names := map[int]string{}
	var known []string
	for _, c := range d.Clusters {
		names[c.ID] = c.Name
		known = append(known, c.Name)
	}
	if at < 0 {
		return withHint(withCode(exitUsage, &registry.UnknownError{Kind: "cluster", Name: which,
			Nearest: registry.Nearest(which, known)}),
			"`hgld cluster show` lists them")
	}
	c := d.Clusters[at]
	if j.json {
		return writeJSON(j, c)
	}
	landmarks, images := use(d, c)
	j.print("%s (id %d): %s, %s", c.Name, c.ID, count(len(c.Members), "tag"), count(landmarks, "landmark"))
	if images > 0 {
		j.print(", %s", count(images, "image"))
	}
	if c.Known {
		j.print("; a group of %s", cmp.Or(d.Origin.Given, d.Origin.Groups))
	}
	j.print("\n")
	printNames(j, "or named", c.Alternatives, func(i int) string { return d.Tags[i].Name })
	printNames(j, "nearest", c.Nearest, func(id int) string { return names[id] })
	j.print("\n%8s  %9s  %s\n", "distance", "landmarks", "tag")
	for _, m := range c.Members {
		j.print("%8.4f  %9d  %s", m.Distance, d.Tags[m.Tag].Landmarks, d.Tags[m.Tag].Name)
		if m.Outlier {
			j.print("  (outlier)")
		}
		j.print("\n")
	}
	return nil
}

func printNames(j *job, label string, ids []int, name func(int) string) {
	for i, id := range ids {
		separator := ", "
		if i == 0 {
			separator = label + ": "
		}
		j.print("%s%s", separator, name(id))
	}
	if len(ids) > 0 {
		j.print("\n")
	}
}
