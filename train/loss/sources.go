package loss

import "hgld/internal/registry"

// Sources says where each loss of All is defined: Value the publication, About the
// place in it. "Optimization of Rank Losses" is Ramzi et al., "Optimization of Rank
// Losses for Image Retrieval", 2023, SupRank the code released with it.
var Sources = registry.Table[string]{
	{Name: "smooth-ap", Value: "Brown et al., Smooth-AP, ECCV 2020", About: "supplement, Table S1"},
	{Name: "sup-ap", Value: "Ramzi et al., Robust and Decomposable Average Precision, NeurIPS 2021", About: "Optimization of Rank Losses, Eq. 4 and 11"},
	{Name: "smooth-recall", Value: "Patel et al., Recall@k Surrogate Loss, CVPR 2022", About: "as in SupRank"},
	{Name: "sup-recall", Value: "Ramzi et al., Optimization of Rank Losses", About: "Eq. 16"},
	{Name: "recall-at-k-original", Value: "Patel et al., Recall@k Surrogate Loss, CVPR 2022", About: "its code, with SiMix as a setting"},
	{Name: "smooth-ndcg", Value: "Ramzi et al., Optimization of Rank Losses", About: "Eq. 24 with sigmoids"},
	{Name: "sup-ndcg", Value: "Ramzi et al., Optimization of Rank Losses", About: "Eq. 24"},
	{Name: "smooth-h-ap", Value: "Ramzi et al., HAPPIER, ECCV 2022", About: "Optimization of Rank Losses, Table X"},
	{Name: "sup-h-ap", Value: "Ramzi et al., HAPPIER, ECCV 2022", About: "Optimization of Rank Losses, Eq. 18 to 21"},
	{Name: "softbin-ap", Value: "Revaud et al., Learning with Average Precision, ICCV 2019", About: "Eq. 1 to 11 of the supplement"},
	{Name: "fast-ap", Value: "Cakir et al., Deep Metric Learning to Rank, CVPR 2019", About: "its code"},
	{Name: "blackbox-ap", Value: "Rolínek et al., Optimizing Rank-based Metrics with Blackbox Differentiation, CVPR 2020", About: "Eq. 14, 21 and 22"},
	{Name: "rambo-recall", Value: "Rolínek et al., Optimizing Rank-based Metrics with Blackbox Differentiation, CVPR 2020", About: "sections 4.3 and 4.5"},
	{Name: "triplet", Value: "Schroff et al., FaceNet, CVPR 2015", About: "on scores, all triplets: TL_SH of Optimization of Rank Losses"},
	{Name: "xbm-contrastive", Value: "Wang et al., Cross-Batch Memory for Embedding Learning, CVPR 2020", About: "its code"},
	{Name: "multi-similarity", Value: "Wang et al., Multi-Similarity Loss with General Pair Weighting, CVPR 2019", About: "its code"},
	{Name: "nsm", Value: "Zhai and Wu, Classification is a Strong Baseline for Deep Metric Learning, BMVC 2019", About: "L*_DG of Optimization of Rank Losses, Eq. 8"},
	{Name: "nca-pp", Value: "Teh et al., ProxyNCA++, ECCV 2020", About: "its code"},
	{Name: "proxy-nca", Value: "Movshovitz-Attias et al., No Fuss Distance Metric Learning using Proxies, ICCV 2017", About: "as in ProxyNCA++'s code"},
	{Name: "arcface", Value: "Deng et al., ArcFace, CVPR 2019", About: "as in SupRank"},
	{Name: "csl", Value: "Sun et al., Dynamic Metric Learning, CVPR 2021", About: "as in SupRank"},
	{Name: "cross-entropy", Value: "Boudiaf et al., A Unifying Mutual Information View of Metric Learning, ECCV 2020", About: "its code"},
	{Name: "sum-triplet", Value: "Ramzi et al., Optimization of Rank Losses", About: "the row ΣTL"},
	{Name: "sum-nsm", Value: "Ramzi et al., Optimization of Rank Losses", About: "the row ΣNSM"},
	{Name: "sum-nca-pp", Value: "Ramzi et al., Optimization of Rank Losses", About: "the row ΣNCA++"},
	{Name: "calibration", Value: "Ramzi et al., Robust and Decomposable Average Precision, NeurIPS 2021", About: "Optimization of Rank Losses, Eq. 7"},
	{Name: "roadmap", Value: "Ramzi et al., Robust and Decomposable Average Precision, NeurIPS 2021", About: "Optimization of Rank Losses, Eq. 2, 8 and 11"},
	{Name: "roadmap-calibration", Value: "Ramzi et al., Robust and Decomposable Average Precision, NeurIPS 2021", About: "Optimization of Rank Losses, Eq. 2, 7 and 11"},
	{Name: "roadmap-arcface", Value: "Ramzi et al., Optimization of Rank Losses", About: "released configurations ROADMAP_pp_arcface"},
	{Name: "happier", Value: "Ramzi et al., HAPPIER, ECCV 2022", About: "Optimization of Rank Losses, Eq. 22"},
	{Name: "happier-f", Value: "Ramzi et al., HAPPIER, ECCV 2022", About: "Optimization of Rank Losses, section VII"},
	{Name: "happier-arcface", Value: "Ramzi et al., Optimization of Rank Losses", About: "released configuration HAPPIER_SOP_arcface"},
	{Name: "rod-ndcg", Value: "Ramzi et al., Optimization of Rank Losses", About: "Eq. 25"},
	{Name: "rod-recall", Value: "Ramzi et al., Optimization of Rank Losses", About: "Eq. 16 with Eq. 7"},
	{Name: "rod-recall-nsm", Value: "Ramzi et al., Optimization of Rank Losses", About: "Eq. 16 with Eq. 8"},
}
