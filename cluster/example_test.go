package cluster_test

import (
	"context"
	"fmt"
	"log"

	"hgld/cluster"
	"hgld/labels"
)

// Four points in two clusters.
func ExampleKMeans_Run() {
	x := cluster.Matrix{Rows: 4, Cols: 2, Data: []float32{0, 0, 0, 1, 9, 9, 9, 8}}
	r, err := cluster.KMeans{K: 2, NInit: 5}.Run(context.Background(), x, 1)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("together:", r.Labels[0] == r.Labels[1], r.Labels[2] == r.Labels[3], r.Labels[0] == r.Labels[2])
	fmt.Println("inertia:", r.Inertia)
	// Output:
	// together: true true false
	// inertia: 1
}

// Tags become vectors, vectors become clusters, and clusters become a draft for a curator.
func ExampleNewDraft() {
	var tags []labels.DraftTag
	for i, name := range []string{"road bridge", "parish church", "railway bridge", "church", "bridge"} {
		tags = append(tags, labels.DraftTag{Tag: labels.Tag{Name: name}, Landmarks: 50 - 10*i})
	}
	ctx, encoder := context.Background(), cluster.Hashing{Dim: 256, MinN: 2, MaxN: 4}
	x, err := cluster.Embed(ctx, encoder, "{}", cluster.Names(tags))
	if err != nil {
		log.Fatal(err)
	}
	r, err := cluster.KMeans{K: 2, NInit: 5, Spherical: true}.Run(ctx, x, 1)
	if err != nil {
		log.Fatal(err)
	}
	draft, err := cluster.NewDraft(tags, x, r, labels.Origin{Encoder: encoder.Name(), Prompt: "{}", Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range draft.Clusters {
		fmt.Printf("%s, %d landmarks:", c.Name, c.Landmarks)
		for _, m := range c.Members {
			fmt.Printf(" %q", draft.Tags[m.Tag].Name)
		}
		fmt.Println()
	}
	// Output:
	// road bridge, 90 landmarks: "bridge" "railway bridge" "road bridge"
	// parish church, 60 landmarks: "parish church" "church"
}
