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
// number of levels, by section and key. It trains on all levels, and a batch has no more classes
// than the data. The model is evaluated on classes that it was not trained on. With fewer than
// seven classes, half are held out, so that at least two are ranked against each other. With fewer
// than four, all are used for both training and evaluation. If classes are held out, the best
// checkpoint is evaluated, because only evaluations of held-out classes can select one.
func FirstSettings(levels int, found Survey) map[string]string {
	const rows, most = 4, 16 // images of a class in a batch, and classes
	values := map[string]string{"train.steps": "200"}
	if levels > 1 {
		values["train.loss.name"] = "happier"
	}
	query, gallery := found.Test()
	values["train.query"], values["train.gallery"] = string(query), string(gallery)
	held := 0.0
	switch all := found.Sure(1, 0); {
	case query != "":
	case all < 4:
		values["train.query"] = string(labels.Train)
	default:
		held = 0.33
		if all < 7 {
			held = 0.5
		}
		values["train.hold_out"], values["eval.best"] = fmt.Sprint(held), "true"
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
