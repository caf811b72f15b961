package selection

import (
	"fmt"

	"hgld/labels"
)

// Survey describes the images that exist before they are in shards.
type Survey interface {
	// Test returns the splits to evaluate: the queries and, unless they rank one another, the
	// gallery. Both are "" if all images are for training.
	Test() (query, gallery labels.Split)
	// Sure returns how many classes of the training split are sure to have the given number of
	// images, whichever share of its classes is held out.
	Sure(images int, held float64) int
}

// FirstSettings returns settings for a first training and evaluation of images with the given
// number of levels, by section and key. All levels are learnt, a batch has no more classes than
// there are, and the model is evaluated on images that it was not trained on. The best checkpoint
// is evaluated if classes are held out, because only their evaluations choose one.
func FirstSettings(levels int, found Survey) map[string]string {
	const rows, most, share = 4, 16, 0.33 // images per class in a batch, classes, held-out share
	values := map[string]string{"train.steps": "200"}
	if levels > 1 {
		values["train.loss.name"] = "happier"
	}
	query, gallery := found.Test()
	values["train.query"], values["train.gallery"] = string(query), string(gallery)
	held := 0.0
	if query == "" {
		held = share
		values["train.hold_out"], values["eval.best"] = fmt.Sprint(share), "true"
	}
	classes := found.Sure(rows, held)
	if classes < 2 {
		values["train.sampler.name"] = "random-m-per-class"
		classes = max(2, found.Sure(1, held))
	}
	if classes < most {
		values["train.sampler.batch"] = fmt.Sprint(rows * classes)
	}
	return values
}
