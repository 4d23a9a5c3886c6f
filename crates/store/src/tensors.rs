//! The layout of a store's safetensors files: eight bytes of header length, a JSON header, and the tensors
//! without gaps. Spaces at the end of the header align one of the tensors.

use std::ops::Range;
use std::path::Path;

use safetensors::tensor::{Metadata, TensorInfo};
use safetensors::{Dtype, SafeTensors};
use toller_files::{FileError, ListedFile, ListedFileWriter};

/// The place of vectors and codes in a file, and so in memory, is a multiple of this many bytes: one cache
/// line, and the widest SIMD register.
pub(crate) const ALIGNMENT: usize = 64;

/// The bytes before the JSON header: its length.
const PREFIX: usize = size_of::<u64>();

/// A tensor to be written.
pub(crate) struct Tensor<'a> {
    pub(crate) name: &'a str,
    pub(crate) dtype: Dtype,
    pub(crate) shape: Vec<usize>,
    pub(crate) bytes: &'a [u8],
}

/// Writes a file of tensors, atomically. The tensor number `aligned` begins at a multiple of [`ALIGNMENT`].
pub(crate) fn write(path: &Path, tensors: &[Tensor<'_>], aligned: usize) -> Result<ListedFile, FileError> {
    let mut output = ListedFileWriter::create(path)?;
    output.append(&header(tensors, aligned))?;
    tensors.iter().try_for_each(|tensor| output.append(tensor.bytes))?;
    output.commit()
}

/// The file up to the first tensor.
fn header(tensors: &[Tensor<'_>], aligned: usize) -> Vec<u8> {
    let (mut entries, mut end, mut before) = (Vec::new(), 0, 0);
    for (number, Tensor { name, dtype, shape, bytes }) in tensors.iter().enumerate() {
        if number == aligned {
            before = end;
        }
        let (start, shape) = (end, format!("{shape:?}").replace(' ', ""));
        end += bytes.len();
        entries.push(format!(
            "\"{name}\":{{\"dtype\":\"{dtype}\",\"shape\":{shape},\"data_offsets\":[{start},{end}]}}"
        ));
    }
    let mut json = format!("{{{}}}", entries.join(","));
    let unpadded = PREFIX + json.len() + before;
    json.extend(std::iter::repeat_n(' ', unpadded.next_multiple_of(ALIGNMENT) - unpadded));
    [&(json.len() as u64).to_le_bytes(), json.as_bytes()].concat()
}

/// The tensors of a file that may be damaged. Every error says what is wrong with it.
pub(crate) struct Tensors<'a> {
    file: &'a [u8],
    data_start: usize,
    metadata: Metadata,
}

impl<'a> Tensors<'a> {
    pub(crate) fn read(file: &'a [u8]) -> Result<Self, String> {
        let (header_bytes, metadata) = SafeTensors::read_metadata(file).map_err(|error| error.to_string())?;
        Ok(Self { file, data_start: PREFIX + header_bytes, metadata })
    }

    /// The place of a tensor in the file, which is a multiple of `alignment`.
    pub(crate) fn find(
        &self,
        name: &str,
        dtype: Dtype,
        shape: &[usize],
        alignment: usize,
    ) -> Result<Range<usize>, String> {
        let info = self.info(name)?;
        if info.dtype != dtype || info.shape != shape {
            return Err(format!("{name} is {} {:?}, expected {dtype} {shape:?}", info.dtype, info.shape));
        }
        let place = self.data_start + info.data_offsets.0..self.data_start + info.data_offsets.1;
        if !place.start.is_multiple_of(alignment) {
            return Err(format!("{name} begins at byte {}, not at a multiple of {alignment}", place.start));
        }
        if place.end > self.file.len() {
            return Err(format!("{name} lies outside of the file"));
        }
        Ok(place)
    }

    /// The bytes of a tensor.
    pub(crate) fn length(&self, name: &str) -> Result<usize, String> {
        self.info(name).map(|info| info.data_offsets.1 - info.data_offsets.0)
    }

    fn info(&self, name: &str) -> Result<&TensorInfo, String> {
        self.metadata.info(name).ok_or_else(|| format!("it has no tensor {name}"))
    }
}
