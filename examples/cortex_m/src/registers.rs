//! [`Register`]: a register of a device.

/// A register of 32 bits at a fixed address.
pub(crate) struct Register(usize);

impl Register {
    /// The register at this address.
    ///
    /// # Safety
    ///
    /// The address belongs to a register of a device of the board. Reading and writing it must not affect memory.
    pub(crate) const unsafe fn at(address: usize) -> Self {
        Self(address)
    }

    pub(crate) fn read(&self) -> u32 {
        // SAFETY: `at` requires that the address belongs to a register.
        unsafe { (self.0 as *const u32).read_volatile() }
    }

    pub(crate) fn write(&self, value: u32) {
        // SAFETY: `at` requires that the address belongs to a register.
        unsafe { (self.0 as *mut u32).write_volatile(value) }
    }
}
