//! Emulated SMF, gNB, UE and data network.
