package main

import (
	"github.com/urfave/cli/v2"

	"hgld/cluster"
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
		Action: actionWithArgs(0, 1, "the name or id of one cluster", func(c *cli.Context, j *job) error {
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
				return j.show(d.Clusters, cluster.TableText(d))
			}
			at, err := cluster.Find(d, j.args[0])
			if err != nil {
				return withHint(withCode(exitUsage, err), "`hgld cluster show` lists them")
			}
			return j.show(d.Clusters[at], cluster.MembersText(d, at))
		}),
	}
}
