//! The names of all filters. The test `'name' is filter` needs them without the filters themselves.

const NAMES: &str = "abs attr batch capitalize center count d default dictsort e escape filesizeformat first float \
    forceescape format from_json groupby indent int items join last length list lower map max min \
    pprint random reject rejectattr replace reverse round safe select selectattr slice sort string \
    striptags sum title tojson trim truncate unique upper urlencode wordcount wordwrap xmlattr";

/// The filter that released templates use and transformers does not have.
pub(crate) const FROM_JSON: &str = "from_json";

/// Whether there is a filter of this name.
pub(crate) fn exists(name: &str) -> bool {
    NAMES.split(' ').any(|known| known == name)
}
