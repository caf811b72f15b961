package shards_test

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/png"
	"log"
	"os"
	"path/filepath"
	"testing/fstest"

	"hgld/labels"
	"hgld/shards"
	"hgld/shards/dataset"
)

// Folders of images become a data set, whose images are then read by row.
func Example() {
	folder, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	photos, data, ctx := filepath.Join(folder, "photos"), filepath.Join(folder, "data"), context.Background()
	var photo bytes.Buffer
	if err := png.Encode(&photo, image.NewGray(image.Rect(0, 0, 4, 3))); err != nil {
		log.Fatal(err)
	}
	files := fstest.MapFS{"church/1.png": {Data: photo.Bytes()}, "lake/1.png": {Data: photo.Bytes()}}
	if err := os.CopyFS(photos, files); err != nil {
		log.Fatal(err)
	}

	src, err := dataset.Folder{}.Open(ctx, dataset.Settings{Input: photos})
	if err != nil {
		log.Fatal(err)
	}
	defer src.Close()
	if _, err := shards.Build(ctx, src, data, shards.Options{}); err != nil {
		log.Fatal(err)
	}

	set, err := shards.Open(context.Background(), data)
	if err != nil {
		log.Fatal(err)
	}
	defer set.Close()
	train, err := set.Split(labels.Train)
	if err != nil {
		log.Fatal(err)
	}
	for row := range train.Len() {
		file, err := train.Image(ctx, row)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(set.Classes().Names(train.Labels(row)), "unchanged:", bytes.Equal(file, photo.Bytes()))
	}
	// Output:
	// [church] unchanged: true
	// [lake] unchanged: true
}
