package cluster

import (
	"context"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"testing"

	"hgld/internal/blas"
	"hgld/internal/testing/effort"
	"hgld/internal/testing/goldens"
	"hgld/internal/testing/must"
)

func TestGoldenInternal(t *testing.T) {
	var file struct {
		Internal []struct {
			Name     string
			X        [][]float32
			Labels   []int32
			Expected struct {
				Silhouette       float64
				PerPoint         []float64 `json:"silhouette_per_point"`
				SilhouetteCosine float64   `json:"silhouette_cosine"`
				CalinskiHarabasz float64   `json:"calinski_harabasz"`
				DaviesBouldin    float64   `json:"davies_bouldin"`
			}
		}
	}
	goldens.ReadJSON(t, filepath.Join(goldens.Dir(t, "cluster"), "cases.json"), &file)
	for _, c := range file.Internal {
		t.Run("cluster/internal."+c.Name, func(t *testing.T) {
			x, want := pack(t, c.X), c.Expected
			each := must.Get(Silhouettes(x, c.Labels, false, nil))(t)
			checkNearAll(t, "silhouette of row", each, want.PerPoint, smallTolerance)
			checkInternal(t, x, c.Labels, Internal{want.Silhouette, want.SilhouetteCosine, want.CalinskiHarabasz,
				want.DaviesBouldin}, smallTolerance)
		})
	}
}

func checkInternal(t *testing.T, x Matrix, labels []int32, want Internal, tolerance float64) {
	t.Helper()
	got := must.Get(Measure(x, labels, nil))(t)
	checkNear(t, "silhouette", got.Silhouette, want.Silhouette, tolerance)
	checkNear(t, "silhouette by cosine", got.SilhouetteCosine, want.SilhouetteCosine, tolerance)
	checkNear(t, "Calinski–Harabasz", got.CalinskiHarabasz, want.CalinskiHarabasz, tolerance)
	checkNear(t, "Davies–Bouldin", got.DaviesBouldin, want.DaviesBouldin, tolerance)
}

func TestGoldenInternalOfText(t *testing.T) {
	for i, c := range textCases(t) {
		t.Run("cluster/text."+strconv.Itoa(i), func(t *testing.T) {
			checkInternal(t, c.x, c.KMeans.Labels, c.Internal, textTolerance)
		})
	}
}

func TestGoldenTrustworthiness(t *testing.T) {
	var file struct {
		Trustworthiness []struct {
			Name     string
			X, Y     [][]float32
			Expected map[string]float64
		}
	}
	goldens.ReadJSON(t, filepath.Join(goldens.Dir(t, "cluster"), "cases.json"), &file)
	for _, c := range file.Trustworthiness {
		t.Run("cluster/trustworthiness."+c.Name, func(t *testing.T) {
			if len(c.Expected) == 0 {
				t.Fatal("the case has no figures")
			}
			for text, want := range c.Expected {
				k := must.Get(strconv.Atoi(text))(t)
				if !anyOrder(t, pack(t, c.X), pack(t, c.Y), k, want) {
					t.Errorf("no order of the rows gives a trustworthiness of %d neighbours of %v", k, want)
				}
			}
		})
	}
}

// anyOrder reports whether the rows in some order have the trustworthiness want. Rows of the case
// are equally far from others, even at the edge of a neighbourhood. There the reference takes the
// row that its search tree meets first, and this package the lower row. Reordering the rows tries
// both.
func anyOrder(t *testing.T, x, y Matrix, k int, want float64) bool {
	t.Helper()
	for seed := range uint64(400) {
		order := rand.New(rand.NewPCG(seed, 0)).Perm(x.Rows)
		px, py := NewMatrix(x.Rows, x.Cols), NewMatrix(y.Rows, y.Cols)
		for i, from := range order {
			copy(px.Row(i), x.Row(from))
			copy(py.Row(i), y.Row(from))
		}
		got := must.Get(Trustworthiness(px, py, k, nil))(t)
		if math.Abs(got-want) > 0.01 { // a tie affects the ranks of a single row
			t.Fatalf("trustworthiness of %d neighbours is %v in one order, want %v", k, got, want)
		}
		if math.Abs(got-want) <= smallTolerance {
			return true
		}
	}
	return false
}

func TestGoldenPCA(t *testing.T) {
	var file struct {
		PCA []struct {
			Name     string
			X        [][]float32
			K        int
			Expected struct {
				Mean       []float64
				Variance   []float64   `json:"explained_variance"`
				Ratio      []float64   `json:"explained_variance_ratio"`
				Components [][]float64 `json:"components_sign_by_largest_U"`
				Whitened   []float64   `json:"whitened_first_row"`
				Projected  []float64   `json:"projected_first_row"`
			}
		}
	}
	goldens.ReadJSON(t, filepath.Join(goldens.Dir(t, "cluster"), "cases.json"), &file)
	for _, c := range file.PCA {
		t.Run("cluster/pca."+c.Name, func(t *testing.T) {
			x := pack(t, c.X)
			p := must.Get(FitPCA(x, c.K))(t)
			checkNearAll(t, "mean", p.Mean, c.Expected.Mean, smallTolerance)
			checkNearAll(t, "variance", p.Variance, c.Expected.Variance, smallTolerance)
			checkNearAll(t, "ratio", p.Ratio, c.Expected.Ratio, smallTolerance)
			for i, want := range c.Expected.Components {
				checkNearAll(t, "component", p.Components[i*x.Cols:(i+1)*x.Cols], want, smallTolerance)
			}
			// Scores are returned as float32.
			checkNearAll(t, "whitened value", widened(p.Project(x, true).Row(0)), c.Expected.Whitened, 1e-7)
			checkNearAll(t, "projected value", widened(p.Project(x, false).Row(0)), c.Expected.Projected, 1e-7)
		})
	}
}

func TestGoldenPCAOfText(t *testing.T) {
	for i, c := range textCases(t) {
		t.Run("cluster/text."+strconv.Itoa(i), func(t *testing.T) {
			p := must.Get(FitPCA(c.x, len(c.PCA)))(t)
			checkNearAll(t, "variance", p.Variance, c.PCA, textTolerance*0.01) // of figures near 0.01
		})
	}
}

func widened(row []float32) []float64 {
	wide := make([]float64, len(row))
	for i, v := range row {
		wide[i] = float64(v)
	}
	return wide
}

func TestGoldenTSNE(t *testing.T) {
	var file struct {
		Sets []bestSet
		TSNE struct {
			Set        string
			Perplexity float64
			SKLearn    struct {
				Trust float64 `json:"trustworthiness_12"`
				OfPCA float64 `json:"trustworthiness_12_of_pca_2d"`
			} `json:"scikit_learn"`
		}
	}
	goldens.ReadJSON(t, filepath.Join(goldens.Dir(t, "cluster"), "best.json"), &file)
	lib := must.Get(blas.Default())(t)
	ran := false
	for _, set := range file.Sets {
		if set.Name != file.TSNE.Set {
			continue
		}
		ran = true
		t.Run("cluster/tsne."+set.Name, func(t *testing.T) {
			x := set.rows(t)
			o := TSNE{Perplexity: file.TSNE.Perplexity, BLAS: lib}
			if !effort.Exhaustive() {
				o.MaxIter = 350 // a hundred after the exaggeration are enough
			}
			picture := must.Get(o.Run(context.Background(), x))(t)
			pca := must.Get(FitPCA(x, 2))(t)
			flat := must.Get(Trustworthiness(x, pca.Project(x, false), 12, lib))(t)
			// The reference rounds its PCA to float32 before it ranks neighbours.
			checkNear(t, "trustworthiness of PCA", flat, file.TSNE.SKLearn.OfPCA, 1e-4)
			got := must.Get(Trustworthiness(x, picture, 12, lib))(t)
			if want := file.TSNE.SKLearn.Trust - 0.02; want <= flat || got < want {
				t.Errorf("trustworthiness of t-SNE is %v, want at least %v (PCA has %v)", got, want, flat)
			}
		})
	}
	if !ran {
		t.Fatalf("there is no set %q", file.TSNE.Set)
	}
}
