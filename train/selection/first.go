package selection

import (
	"fmt"

	"hgld/labels"
)

// Survey says which images there are, before they are in shards.
type Survey interface {
	// Test returns the splits to evaluate: the queries and, unless they rank one another, the
	// gallery. Both are "" if all images are for training.
	Test() (query, gallery labels.Split)
	// Sure returns how many classes of the training split have at least so many images,
	// whichever share of all its classes is held out.
	Sure(images int, held float64) int
}

// FirstSettings returns settings for a first training of images that have so many levels, by
// their keys in the section train: all levels are learnt, a batch has no more classes than there
// are, and what the model is measured on was not trained on.
func FirstSettings(levels int, found Survey) map[string]string {
	const rows, most, share = 4, 16, 0.33 // images of a class in a batch, classes, and the share held out
	values := map[string]string{"steps": "200"}
	if levels > 1 {
		values["loss.name"] = "happier"
	}
	query, gallery := found.Test()
	values["query"], values["gallery"] = string(query), string(gallery)
	held := 0.0
	if query == "" {
		held = share
		values["hold_out"] = fmt.Sprint(share)
	}
	classes := found.Sure(rows, held)
	if classes < 2 {
		values["sampler.name"] = "random-m-per-class"
		classes = max(2, found.Sure(1, held))
	}
	if classes < most {
		values["sampler.batch"] = fmt.Sprint(rows * classes)
	}
	return values
}
