package dataset_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"testing/fstest"

	"hgld/shards/dataset"
)

// The folders around an image are its classes. The importer decodes no image, so empty files suffice.
func ExampleFolder() {
	folder, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	files := fstest.MapFS{"natural/lake/1.jpg": {}, "human-made/church/1.jpg": {}, "human-made/bridge/1.jpg": {}}
	if err := os.CopyFS(folder, files); err != nil {
		log.Fatal(err)
	}

	ctx := context.Background()
	src, err := dataset.Folder{}.Open(ctx, dataset.Settings{Input: folder, Levels: []string{"supercategory", "kind"}})
	if err != nil {
		log.Fatal(err)
	}
	defer src.Close()
	fmt.Println(src.Levels())
	for item, err := range src.Items(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(item.Path, item.Split, item.Names)
	}
	// Output:
	// [supercategory kind]
	// human-made/bridge/1.jpg train [bridge human-made]
	// human-made/church/1.jpg train [church human-made]
	// natural/lake/1.jpg train [lake natural]
}
